// A slow write of a virtual machine's disk leads in three presses of a row to its volume, to the log, and to the device behind it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Daemon, Keyboard, Mouse, begin, end, go, judge, picture, signIn, visit } from "./kit.mjs";

before(begin);
after(end);

/** What the slow device takes for each I/O, in milliseconds. */
const DELAY = 40;

for (const Hand of [Mouse, Keyboard]) {
  const name = Hand.name.toLowerCase();
  test(`a slow write leads to the device behind it, by ${name}`, async () => {
    const daemon = await new Daemon({ disks: 3 }).start();
    try {
      await daemon.addUser("ada", "operator");
      const [first, second, log] = [1, 2, 3].map((at) => join(daemon.state, "disks", `disk${at}.img`));
      daemon.run("zpool", "create", "-m", "none", "tank", "mirror", first, second, "log", log);
      daemon.run("zfs", "create", "-V", "32M", "tank/vm");
      const url = daemon.run("volume", "attach", "tank/vm").trim();
      const write = () => {
        const commands = Array.from({ length: 8 }, (_, at) => ["-c", `write -f -P ${at + 1} ${at * 64}k 64k`]).flat();
        execFileSync("qemu-io", ["-f", "raw", "-t", "none", ...commands, url], { timeout: 60_000 });
      };
      // The first commit begins the log, and waits for its group.
      write();
      daemon.run("zpool", "sync");
      daemon.run("zinject", "-q", "-d", log, "-D", `${DELAY}:1`, "tank");

      const page = await visit(daemon);
      await signIn(page);
      const hand = new Hand(page);
      const dialog = page.getByRole("dialog");
      const begins = async (title) => {
        await hand.press(dialog.getByRole("button", { name: "Begin", exact: true }));
        await dialog.waitFor({ state: "detached" });
        const pane = page.getByRole("region", { name: title, exact: true });
        await pane.waitFor();
        write();
        return pane;
      };
      await go(page, "/analytics");
      await hand.press(page.getByRole("button", { name: "New drill-down", exact: true }));
      await hand.choose(dialog.getByRole("button", { name: /Tell apart by/ }), "Latency");
      await hand.type(dialog.getByLabel("Operation", { exact: true }), "write");
      const slow = await begins("Requests by latency");
      await slow.getByRole("row", { name: /^\d\d+ms/ }).first().waitFor();
      await hand.open("The heaviest of Requests by latency", /^\d\d+ms/);
      await dialog.getByText(/Only requests of: Operation WRITE|Only requests of: Operation write/).waitFor();
      const volumes = await begins("Requests by file");
      await volumes.getByRole("row", { name: /tank\/vm/ }).waitFor();
      await hand.open("The heaviest of Requests by file", /tank\/vm/);
      const served = await begins("Requests by served by");
      await served.getByRole("row", { name: /^log/ }).waitFor();
      await hand.open("The heaviest of Requests by served by", /^log/);
      const devices = await begins("Requests by device");
      await devices.getByRole("row", { name: /^tank:.*disk3\.img/ }).waitFor();
      assert.equal(await devices.getByRole("row", { name: /^tank:.*disk[12]/ }).count(), 0);
      await picture(page, `slow-device-${name}`);
      await judge(page, "analytics by device");

      // Where in the volume, as a picture, of which a class leads further down.
      await hand.press(page.getByRole("button", { name: "New drill-down", exact: true }));
      await hand.choose(dialog.getByRole("button", { name: /Tell apart by/ }), "Size");
      await hand.choose(dialog.getByRole("button", { name: /And by/ }), "Offset");
      await hand.type(dialog.getByLabel("Operation", { exact: true }), "write");
      const places = await begins("Requests by size, offset");
      await places.getByRole("row", { name: /64K +0M/ }).waitFor();
      await hand.press(places.getByRole("button", { name: "Show offsets", exact: true }));
      await places.getByText(/^8 requests from .* by ranges of 16 MiB: from 0 B to 16\.0 MiB\.$/).waitFor();
      await picture(page, `offsets-${name}`);
      await places.locator("canvas").click();
      await dialog.getByText(/Only requests of: Operation write, from byte 0 B on/).waitFor();
      await hand.press(dialog.getByRole("button", { name: "Cancel", exact: true }));
      await dialog.waitFor({ state: "detached" });

      // A worksheet keeps that, and tells when one value is above a number.
      await hand.press(page.getByRole("button", { name: "Keep what is shown", exact: true }));
      await hand.type(dialog.getByLabel("Name", { exact: true }), "vm");
      await hand.press(dialog.getByRole("button", { name: "Keep", exact: true }));
      await dialog.waitFor({ state: "detached" });
      await hand.menu(page.getByRole("button", { name: "Actions of worksheet vm", exact: true }), "Change…");
      await hand.choose(dialog.getByRole("button", { name: /Alert of pane 1/ }), "Operations a second");
      await hand.type(dialog.getByLabel("Only size", { exact: true }), "64K");
      await hand.type(dialog.getByLabel("Only offset", { exact: true }), "0M");
      await hand.type(dialog.getByLabel("Above", { exact: true }), "500");
      await picture(page, `alert-of-a-value-${name}`);
      await hand.press(dialog.getByRole("button", { name: "Save", exact: true }));
      await dialog.waitFor({ state: "detached" });
      const [{ panes }] = await daemon.ask("GET", "/v1/analytics/worksheets");
      assert.deepEqual([panes.length, panes[0].alert], [5, { measure: "operations", above: 500, seconds: 60, values: ["64K", "0M"] }]);

      // Each request by itself says so, too.
      await go(page, "/trace");
      await hand.type(page.getByLabel("Device", { exact: true }), `tank:${log}`);
      await hand.press(page.getByRole("button", { name: "Begin trace", exact: true }));
      await page.getByText("It runs").waitFor();
      write();
      await page.getByRole("row", { name: /WRITE.*log.*tank:.*disk3\.img.*tank\/vm/ }).first().waitFor();
      await picture(page, `slow-trace-${name}`);
      assert.deepEqual(page.faults, []);
      await page.context().close();
    } finally {
      await daemon.end();
    }
  });
}
