// The main task of each page, by a mouse and by a keyboard alone, from an appliance that has nothing.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Daemon, Keyboard, Mouse, PASSWORD, begin, end, go, judge, picture, signIn, visit } from "./kit.mjs";

const PAGES = ["", "faults", "analytics", "trace", "pools", "setup", "datasets", "datasets/tank%2Fdata", "snapshots", "snapshots/tank%2Fdata%40first/files", "advisor", "shares", "volumes", "services", "replication", "jobs", "users", "audit", "settings", "shell", "about"];

before(begin);
after(end);

const button = (page, name) => page.getByRole("button", { name, exact: true });
const dialog = (page) => page.getByRole("dialog").or(page.getByRole("alertdialog"));
const field = (page, label) => dialog(page).getByLabel(label, { exact: true });
const closed = (page) => dialog(page).waitFor({ state: "detached" });

for (const Hand of [Mouse, Keyboard]) {
  const name = Hand.name.toLowerCase();
  test(`all tasks by ${name}`, async (at) => {
    const daemon = await new Daemon().start();
    const page = await visit(daemon);
    const hand = new Hand(page);
    let hasFailed = false;
    const task = (title, work) => at.test(title, { skip: hasFailed }, async () => {
      await work().catch(async (error) => {
        hasFailed = true;
        await picture(page, `failed-${name}-${title.replace(/\W+/g, "-")}`);
        throw error;
      });
      assert.deepEqual(page.faults, []);
    });

    try {
      await task("first start: from a code to a shared file system", async () => {
        await hand.press(page.getByRole("link", { name: /one-time code/ }));
        await hand.type(page.getByLabel("One-time code"), daemon.code);
        await hand.type(page.getByLabel("Name of your account"), "ada");
        await hand.type(page.getByLabel("Password", { exact: true }), PASSWORD);
        await hand.type(page.getByLabel("Password again"), PASSWORD);
        await picture(page, `claim-${name}`);
        await hand.press(button(page, "Create administrator"));
        await page.getByRole("heading", { name: "Set up storage" }).waitFor();
        await hand.radio(page.getByRole("radio", { name: /RAID-Z1/ }));
        await picture(page, `setup-${name}`);
        await hand.press(button(page, "Make the pool"));
        await page.getByRole("heading", { name: "Pool tank is ready" }).waitFor();
        await page.getByText("mount -t nfs").waitFor();
        await picture(page, `setup-done-${name}`);
        const [pool] = await daemon.ask("GET", "/v1/pools");
        assert.equal(pool.root.children[0].kind, "raidz");
        assert.deepEqual((await daemon.ask("GET", "/v1/services")).map(({ id }) => id).sort(), ["monthly-scrub", "tank-snapshots"]);
      });

      await task("a real client writes a file to it", async () => {
        const from = join(daemon.folder, "letter");
        writeFileSync(from, "hello from a client\n");
        const address = `nfs://127.0.0.1/tank/data/letter?nfsport=${daemon.nfs}&mountport=${daemon.nfs}&version=3`;
        execFileSync("nfs-cp", [from, address], { timeout: 20_000 });
        assert.equal(execFileSync("nfs-cat", [address], { timeout: 20_000 }).toString(), "hello from a client\n");
        await hand.press(page.getByRole("link", { name: "To the dashboard" }));
        await page.getByRole("heading", { name: "All is well" }).waitFor();
      });

      const letter = () => `nfs://127.0.0.1/tank/data/letter?nfsport=${daemon.nfs}&mountport=${daemon.nfs}&version=3`;
      const ask = () => execFileSync("nfs-cat", [letter()], { timeout: 20_000 });

      await task("analytics: a drill-down by client leads to the file", async () => {
        await hand.press(page.getByRole("link", { name: "Analytics" }));
        await hand.press(button(page, "New drill-down"));
        await hand.press(dialog(page).getByRole("button", { name: "Begin", exact: true }));
        await closed(page);
        await page.getByRole("heading", { name: "Requests by client" }).waitFor();
        ask();
        await page.getByRole("row", { name: /127\.0\.0\.1/ }).first().waitFor();
        await hand.open("The heaviest of Requests by client", /127\.0\.0\.1/);
        await dialog(page).getByText("Only requests of: Client 127.0.0.1").waitFor();
        await hand.press(dialog(page).getByRole("button", { name: "Begin", exact: true }));
        await closed(page);
        const pane = page.getByRole("region", { name: "Requests by file" });
        await pane.waitFor();
        ask();
        await pane.getByRole("row", { name: /tank\/data:\/letter/ }).waitFor();
        await hand.tick(pane.getByRole("checkbox", { name: "Files below their datasets" }));
        await pane.getByRole("treegrid").getByRole("row", { name: /^tank\/data / }).waitFor();
        await picture(page, `analytics-hierarchy-${name}`);
        await hand.press(pane.getByRole("button", { name: "Show latencies" }));
        await pane.getByText(/half of them took/).waitFor();
        await picture(page, `analytics-${name}`);
        await hand.press(pane.getByRole("button", { name: "End", exact: true }));
        await pane.getByText("ended, kept").waitFor();
        const [, by] = await daemon.ask("GET", "/v1/analytics");
        assert.deepEqual([by.by, by.filter, by.owner, by.running], [["file"], { client: "127.0.0.1" }, "ada", false]);
        await hand.press(pane.getByRole("button", { name: "Remove", exact: true }));
        await pane.waitFor({ state: "detached" });
      });

      await task("analytics: a worksheet is kept, changed by two, opened and removed", async () => {
        const sheet = '<b>"clients"</b>';
        await hand.press(button(page, "Keep what is shown"));
        await hand.type(field(page, "Name"), sheet);
        await hand.press(dialog(page).getByRole("button", { name: "Keep", exact: true }));
        await closed(page);
        await page.getByRole("listitem").filter({ hasText: sheet }).getByText(/1 pane/).waitFor();
        await hand.menu(button(page, `Actions of worksheet ${sheet}`), "Change…");
        await dialog(page).getByText("Requests by client").waitFor();
        // Another changes it meanwhile: nothing is overwritten unseen.
        await daemon.ask("POST", `/v1/analytics/worksheets/${encodeURIComponent(sheet)}/change`, { panes: [{ statistic: "latencies", by: ["user"] }] });
        await hand.press(dialog(page).getByRole("button", { name: "Save", exact: true }));
        await dialog(page).getByText("Requests by user").first().waitFor();
        await picture(page, `worksheet-collision-${name}`);
        await hand.press(dialog(page).getByRole("button", { name: "Take theirs" }));
        await hand.press(dialog(page).getByRole("button", { name: "Save", exact: true }));
        await closed(page);
        await hand.press(button(page, `Open worksheet ${sheet}`));
        const pane = page.getByRole("region", { name: "Requests by user" });
        await pane.getByRole("button", { name: "Show lines" }).waitFor();
        await page.getByRole("region", { name: "Requests by client" }).waitFor({ state: "detached" });
        ask();
        await pane.getByRole("row").nth(1).waitFor();
        await picture(page, `worksheet-${name}`);
        const saved = page.waitForEvent("download");
        await hand.press(button(page, "Save all as CSV"));
        assert.match((await saved).suggestedFilename(), /^cistern-worksheet-.*\.csv$/);
        const pictured = page.waitForEvent("download");
        await hand.press(pane.getByRole("button", { name: "Save picture" }));
        assert.match((await pictured).suggestedFilename(), /\.png$/);
        // What it finds is kept, and shown for a month.
        await hand.menu(button(page, `Actions of worksheet ${sheet}`), "Change…");
        await dialog(page).getByText("Requests by user").first().waitFor();
        await hand.tick(dialog(page).getByRole("checkbox", { name: "Keep what it finds for a year" }));
        await hand.press(dialog(page).getByRole("button", { name: "Save", exact: true }));
        await closed(page);
        await hand.press(button(page, `Open worksheet ${sheet}`));
        await hand.choose(page.getByRole("button", { name: /Time shown/ }), "31 days");
        await pane.getByText("on for a worksheet").waitFor();
        // A request of the last second comes with the next reading, and there is one each minute.
        await pane.getByRole("row").nth(1).waitFor({ timeout: 90_000 });
        await picture(page, `worksheet-kept-${name}`);
        await hand.choose(page.getByRole("button", { name: /Time shown/ }), "5 minutes");
        await hand.press(button(page, "Show all drill-downs"));
        await page.getByRole("region", { name: "Requests by client" }).waitFor();
        const kept = await daemon.ask("GET", "/v1/analytics/worksheets");
        assert.deepEqual([kept[0].name, kept[0].panes.length, kept[0].panes[0].by, kept[0].by], [sheet, 1, ["user"], "ada"]);
        await hand.menu(button(page, `Actions of worksheet ${sheet}`), "Remove…");
        await hand.type(dialog(page).getByLabel(/Type the name/), sheet);
        await hand.press(dialog(page).getByRole("button", { name: "Remove", exact: true }));
        await closed(page);
        await page.getByText("None is kept yet").waitFor();
      });

      await task("trace: a read of a real client, with its stages", async () => {
        await hand.press(page.getByRole("link", { name: "Trace" }));
        await hand.type(page.getByLabel("Operation", { exact: true }), "read");
        await hand.press(button(page, "Begin trace"));
        await page.getByText("It runs").waitFor();
        ask();
        const row = page.getByRole("row", { name: /READ.*tank\/data:\/letter/ }).first();
        await row.waitFor();
        assert.match(await row.getByRole("img").getAttribute("aria-label"), /engine|protocol/);
        await picture(page, `trace-${name}`);
        await hand.press(button(page, "Stop"));
        await page.getByText("It has ended").waitFor();
      });

      await task("pools: a scrub, a device offline and online", async () => {
        await hand.press(page.getByRole("link", { name: "Pools", exact: true }));
        await hand.menu(button(page, "Actions of pool tank"), "Scrub…");
        await hand.press(button(page, "Begin scrub"));
        await closed(page);
        await page.getByText(/Scrub (runs|ended)/).waitFor();
        await hand.menu(button(page, "Actions of device disk2.img"), "Take offline…");
        await hand.press(button(page, "Take offline"));
        await closed(page);
        await page.getByText("DEGRADED").first().waitFor();
        await picture(page, `pools-degraded-${name}`);
      });

      await task("faults: somebody looks after one", async () => {
        await hand.press(page.getByRole("link", { name: /^Faults/ }));
        await page.getByRole("row", { name: /disk2|tank/ }).first().waitFor();
        await hand.open("Faults", /disk2|tank/);
        await hand.press(button(page, "I look after it"));
        await button(page, "Nobody looks after it").waitFor();
        await picture(page, `fault-${name}`);
        await hand.press(button(page, "Close"));
        await closed(page);
        await hand.press(page.getByRole("link", { name: "Pools", exact: true }));
        await hand.menu(button(page, "Actions of device disk2.img"), "Bring online");
        await page.getByText("OFFLINE", { exact: true }).waitFor({ state: "detached" });
      });

      await task("pools: a device attached, replaced, detached, more added and removed", async () => {
        await daemon.addPool("bench", ["bench1"]);
        for (const disk of ["bench2", "bench3", "bench4", "bench5"]) daemon.addDisk(disk);
        const bench = async () => (await daemon.ask("GET", "/v1/pools/bench")).root.children;
        const pick = async (from, to) => hand.choose(dialog(page).getByRole("button", { name: from }), to);
        await hand.menu(button(page, "Actions of device bench1.img"), "Attach a mirror…");
        await dialog(page).getByText("It can be undone: detach it.").waitFor();
        await pick(/^bench2/, /^bench3/);
        await picture(page, `attach-${name}`);
        await hand.press(button(page, "Attach"));
        await closed(page);
        assert.deepEqual((await bench())[0].children.length, 2);
        await hand.menu(button(page, "Actions of device bench1.img"), "Replace…");
        await pick(/^bench2/, /^bench4/);
        await hand.press(button(page, "Replace"));
        await closed(page);
        await button(page, "Actions of device bench1.img").waitFor({ state: "detached" });
        await hand.menu(button(page, "Actions of device bench3.img"), "Detach…");
        await dialog(page).getByText(/Nothing is redundant there any more/).waitFor();
        await hand.type(dialog(page).getByLabel(/Type the name/), "bench3.img");
        await picture(page, `detach-${name}`);
        await hand.press(button(page, "Detach"));
        await closed(page);
        await hand.menu(button(page, "Actions of pool bench"), "Add devices…");
        await hand.select("Free disks", /bench2/);
        await hand.type(dialog(page).getByLabel(/Type the name/), "bench");
        await picture(page, `add-${name}`);
        await hand.press(button(page, "Add"));
        await closed(page);
        await button(page, "Actions of device bench2.img").waitFor();
        await hand.menu(button(page, "Actions of pool bench"), "Add devices…");
        await pick(/^Data/, /^Spares/);
        await hand.select("Free disks", /bench5/);
        await hand.type(dialog(page).getByLabel(/Type the name/), "bench");
        await hand.press(button(page, "Add"));
        await closed(page);
        await hand.menu(button(page, "Actions of device bench5.img"), "Remove…");
        await hand.type(dialog(page).getByLabel(/Type the name/), "bench5.img");
        await hand.press(button(page, "Remove"));
        await closed(page);
        await button(page, "Actions of device bench5.img").waitFor({ state: "detached" });
        await picture(page, `pools-${name}`);
        await daemon.ask("POST", "/v1/pools/bench/destroy", { force: true });
      });

      await task("datasets: create, set, inherit, destroy with its name typed", async () => {
        await hand.press(page.getByRole("link", { name: "Datasets", exact: true }));
        await hand.press(button(page, "New dataset"));
        await hand.type(dialog(page).getByLabel("Name"), "projects");
        await hand.press(button(page, "Create"));
        await closed(page);
        await hand.open("Datasets", /projects/);
        await page.getByRole("heading", { name: "tank/projects" }).waitFor();
        await hand.type(page.getByLabel("Search properties"), "compression");
        await hand.open("Properties", /compression/);
        await hand.type(dialog(page).getByLabel("Value of compression"), "zstd");
        await hand.press(button(page, "Save"));
        await closed(page);
        await page.getByRole("row", { name: /zstd.*set here/ }).waitFor();
        await hand.open("Properties", /compression/);
        await hand.press(button(page, "Inherit instead"));
        await closed(page);
        await page.getByRole("row", { name: /lz4.*inherited from tank/ }).waitFor();
        await hand.menu(button(page, "Actions of tank/projects"), "Destroy…");
        // The service has taken snapshots of it meanwhile, or has not.
        await hand.tick(dialog(page).getByRole("checkbox"));
        await dialog(page).getByText("This cannot be undone.").waitFor();
        assert.ok(await button(page, "Destroy").isDisabled());
        await hand.type(dialog(page).getByLabel(/Type the name/), "tank/projects");
        await picture(page, `destroy-${name}`);
        await hand.press(button(page, "Destroy"));
        await page.getByRole("heading", { level: 1, name: "Datasets" }).waitFor();
        await page.getByRole("row", { name: /projects/ }).waitFor({ state: "detached" });
      });

      await task("snapshots: take, roll back, clone, destroy", async () => {
        await hand.press(page.getByRole("link", { name: "Snapshots", exact: true }));
        await hand.type(page.getByLabel("Of", { exact: true }), "tank/data");
        for (const snapshot of ["alpha", "omega"]) {
          await hand.press(button(page, "Take snapshot…"));
          await hand.type(page.getByLabel("Name of the snapshot"), snapshot);
          await hand.press(button(page, "Take snapshot"));
          await closed(page);
        }
        await hand.select("Snapshots", /alpha/);
        await hand.press(button(page, "Clone…"));
        await hand.type(page.getByLabel("Name of the clone, with the pool"), "tank/copy");
        await hand.press(button(page, "Clone"));
        await closed(page);
        await hand.select("Snapshots", /omega/);
        await picture(page, `snapshots-${name}`);
        await hand.press(button(page, "Roll back…"));
        await hand.type(page.getByLabel(/Type the name/), "tank/data");
        await hand.press(button(page, "Roll back"));
        await closed(page);
        await page.getByText(/^\d+ snapshots of/).waitFor();
        await daemon.ask("POST", "/v1/snapshots", { names: ["tank/data@psi"] });
        await hand.select("Snapshots", /omega/);
        await hand.select("Snapshots", /psi/);
        await hand.press(button(page, "Destroy…"));
        await dialog(page).getByText(/2 snapshots are lost, and .* become free/).waitFor();
        await hand.type(page.getByLabel(/Type the name/), "destroy");
        await picture(page, `destroy-many-${name}`);
        await hand.press(button(page, "Destroy"));
        await closed(page);
        await page.getByRole("row", { name: /omega|psi/ }).first().waitFor({ state: "detached" });
        // A dataset's page leads to its own.
        await go(page, "/datasets/tank%2Fdata");
        await hand.press(page.getByRole("main").getByRole("link", { name: "Snapshots" }));
        await page.getByRole("row", { name: /alpha/ }).waitFor();
        assert.equal(await page.getByLabel("Of", { exact: true }).inputValue(), "tank/data");
      });

      await task("files of a snapshot: found, read, compared, brought back", async () => {
        // Its name would be an element, and turn the direction of writing.
        const odd = "<i>plan\u202e";
        const address = (file) => `nfs://127.0.0.1/tank/data/${file}?nfsport=${daemon.nfs}&mountport=${daemon.nfs}&version=3`;
        const there = (file) => execFileSync("nfs-cat", [address(file)], { timeout: 20_000 }).toString();
        const write = (file, text) => {
          const from = join(daemon.folder, "plan");
          writeFileSync(from, text);
          execFileSync("nfs-cp", [from, address(file)], { timeout: 20_000 });
        };
        write(odd, "first");
        write("other", "and another");
        await daemon.ask("POST", "/v1/snapshots", { names: ["tank/data@first"] });
        await daemon.ask("POST", "/v1/snapshots", { names: ["tank/data@second"] });
        await daemon.ask("POST", "/v1/file-restores", { snapshot: "tank/data@first", path: "/other", to: "/<i>plan\\0342\\0200\\0256", replace: true });
        await hand.press(page.getByRole("link", { name: "Snapshots", exact: true }).first());
        await hand.type(page.getByLabel("Of", { exact: true }), "tank/data");
        await hand.open("Snapshots", /first/);
        await page.getByRole("heading", { name: "Files of tank/data@first" }).waitFor();
        await hand.open("Files", /<i>plan⟨U\+202E⟩/);
        await dialog(page).getByRole("row", { name: /second and 1 before it, from first on/ }).waitFor();
        await dialog(page).getByRole("row", { name: /as it is now, in no snapshot/ }).waitFor();
        await picture(page, `file-${name}`);
        const [download] = await Promise.all([page.waitForEvent("download"), hand.press(dialog(page).getByRole("link", { name: "Download", exact: true }))]);
        assert.equal(readFileSync(await download.path(), "utf8"), "first");
        await hand.press(button(page, "Restore…"));
        await hand.type(field(page, "Name of the copy"), "plan as it was");
        await hand.press(button(page, "Restore"));
        await dialog(page).getByText("It is restored.").waitFor();
        assert.deepEqual([there("plan as it was"), there(odd)], ["first", "and another"]);
        await hand.press(button(page, "Restore…"));
        await hand.choose(dialog(page).getByRole("button", { name: /^Another file/ }), "The file that it was");
        assert.ok(await button(page, "Restore").isDisabled());
        await hand.type(dialog(page).getByLabel(/Type the name/), "<i>plan⟨U+202E⟩");
        await picture(page, `restore-${name}`);
        await hand.press(button(page, "Restore"));
        await dialog(page).getByText("It is restored.").waitFor();
        assert.equal(there(odd), "first");
        await hand.press(button(page, "Close"));
        await closed(page);
        await hand.press(page.getByRole("link", { name: "All snapshots of tank/data" }));
        await hand.select("Snapshots", /first/);
        await hand.press(button(page, "Compare…"));
        await dialog(page).getByRole("row", { name: /made File \/plan as it was/ }).waitFor();
        await picture(page, `compare-${name}`);
        await hand.press(button(page, "Close"));
        await closed(page);
      });

      await task("advisor: what a faster log would bring, and what deduplication would", async () => {
        await hand.press(page.getByRole("link", { name: "Advisor" }));
        await page.getByRole("row", { name: /tank\/data/ }).waitFor();
        const log = page.getByLabel("A log device takes");
        await hand.type(log, "fast");
        await page.getByText("A time, as 20us or 1.5ms.").waitFor();
        await hand.type(log, "20us");
        await hand.press(button(page, "Ask"));
        for (const part of ["Log", "Memory", "Cache device"]) await page.getByRole("region", { name: part, exact: true }).waitFor();
        await hand.press(button(page, "Estimate"));
        await page.getByText(/would be saved; a table of/).waitFor();
        await picture(page, `advisor-${name}`);
      });

      await task("shares: share, change, stop", async () => {
        await hand.press(page.getByRole("link", { name: "Shares", exact: true }));
        await hand.press(button(page, "New share"));
        await hand.type(dialog(page).getByLabel("Name"), "media");
        await hand.type(page.getByLabel("Clients"), "10.0.0.0/24, 127.0.0.1");
        await hand.press(button(page, "Share"));
        await closed(page);
        await page.getByRole("row", { name: /rw=10\.0\.0\.0\/24:127\.0\.0\.1/ }).waitFor();
        await hand.open("Shares", /tank\/media/);
        await hand.type(page.getByLabel("Options (sharenfs)"), "ro");
        await hand.press(button(page, "Save"));
        await closed(page);
        await page.getByRole("row", { name: /media.*ro/ }).waitFor();
        await picture(page, `shares-${name}`);
      });

      await task("volumes: a new one, and who may see it", async () => {
        await hand.press(page.getByRole("link", { name: "Volumes and targets" }));
        await hand.press(button(page, "New volume"));
        await hand.type(dialog(page).getByLabel("Name"), "vm1");
        await hand.type(page.getByLabel("Size"), "1G");
        await hand.press(button(page, "Create"));
        await closed(page);
        await page.getByRole("row", { name: /tank\/vm1.*1\.00 GiB/ }).waitFor();
        await hand.open("Volumes", /tank\/vm1/);
        await hand.tick(field(page, "Served by iSCSI"));
        await hand.type(field(page, "Target"), "iqn.2026-01.org.example:vms");
        await hand.type(field(page, "Initiators that may see it, one a line"), "iqn.1993-08.org.debian:host1");
        await hand.type(field(page, "User that an initiator proves to be (CHAP)"), "esx");
        await hand.type(field(page, "Secret"), "short");
        await dialog(page).getByText("At least 12 characters.").waitFor();
        await hand.type(field(page, "Secret"), "a secret of 12".replaceAll(" ", "-"));
        await picture(page, `view-${name}`);
        await hand.press(button(page, "Save"));
        await closed(page);
        await page.getByRole("row", { name: /LUN 0 of iqn.2026-01.org.example:vms.*1 initiator, by CHAP/ }).waitFor();
        await picture(page, `volumes-${name}`);
        // A secret that nobody touches stays.
        await hand.open("Volumes", /tank\/vm1/);
        await hand.type(field(page, "LUN"), "3");
        await hand.press(button(page, "Save"));
        await closed(page);
        await page.getByRole("row", { name: /LUN 3 of iqn/ }).waitFor();
        const [volume] = await daemon.ask("POST", "/v1/datasets/secrets", { roots: "tank/vm1", depth: 0, props: "cistern:iscsi" });
        assert.match(volume.props[0].value, /lun=3.*secret=a-secret-of-12/);
      });

      await task("services: one that takes snapshots: errors at their fields, its plan, a run, a change, disabled", async () => {
        await hand.press(page.getByRole("link", { name: "Services", exact: true }).first());
        await hand.press(button(page, "New service"));
        await hand.type(field(page, "Name"), "extra");
        await hand.type(field(page, "Dataset"), "tank/data");
        const space = field(page, "Space of all snapshots, at most");
        await hand.type(field(page, "Name of the level").nth(1), "hourly");
        await hand.type(space, "much");
        await hand.press(button(page, "Create service"));
        await dialog(page).getByText("A size, as 100G, or a share, as 20%.").waitFor();
        await picture(page, `service-form-${name}`);
        await hand.type(space, "20%");
        await hand.press(button(page, "Create service"));
        // What the engine refuses is said at the field that it is about.
        const level = field(page, "Name of the level").nth(1);
        await page.waitForFunction((node) => node.getAttribute("aria-invalid") === "true", await level.elementHandle());
        await hand.type(level, "daily");
        await hand.press(button(page, "Create service"));
        await dialog(page).getByText(/does nothing before it is enabled/).waitFor();
        await dialog(page).getByText(/In the next 7 days/).waitFor();
        await picture(page, `service-plan-${name}`);
        await hand.press(button(page, "Enable it"));
        await closed(page);
        await hand.open("Services", /extra/);
        await dialog(page).getByText(/In the next 7 days/).waitFor();
        await picture(page, `service-${name}`);
        await hand.press(button(page, "Run now"));
        await dialog(page).getByText(/somebody asked for it: \d+ done/).waitFor();
        await hand.press(button(page, "Change…"));
        await hand.type(space, "30%");
        const { spec } = await daemon.ask("GET", "/v1/services/extra");
        await daemon.ask("POST", "/v1/services/extra/spec", { spec: { ...spec, skip_unchanged: true } });
        await hand.press(button(page, "Save"));
        await dialog(page).getByText("skip_unchanged: true").waitFor();
        await picture(page, `service-conflict-${name}`);
        await hand.press(button(page, "Save"));
        await button(page, "Disable").waitFor();
        assert.deepEqual((await daemon.ask("GET", "/v1/services/extra")).spec.budget.space, { of: "percent", percent: 30 });
        await hand.press(button(page, "Disable"));
        await button(page, "Enable").waitFor();
        await hand.press(button(page, "Close"));
        await closed(page);
        assert.equal((await daemon.ask("GET", "/v1/services/extra")).state, "disabled");
      });

      await task("services: one that came with a stream sleeps, and is woken", async () => {
        const run = (line) => execFileSync("sh", ["-c", line.replaceAll("zfs ", `${process.env.CISTERN_PROGRAM} zfs `)], { env: { ...process.env, CISTERN_SOCKET: join(daemon.state, "cistern.sock") }, timeout: 60_000 });
        run("zfs create tank/from && zfs set mountpoint=none tank/from");
        const [dataset] = await daemon.ask("GET", "/v1/datasets?roots=tank/from&depth=0&props=used");
        await daemon.ask("POST", "/v1/services", { id: "carried", spec: { kind: "auto-snap", levels: [{ name: "daily", schedule: { when: { every: "day", hour: 1, minute: 0 } }, keep: { count: 3 } }], targets: [{ dataset: dataset.name, recursive: false }] } });
        run("zfs snapshot tank/from@sent && zfs send -p tank/from@sent | zfs receive -u tank/there");
        await daemon.ask("POST", "/v1/services/carried/remove", {});
        await hand.press(button(page, "Wake carried"));
        await hand.type(dialog(page).getByLabel(/Type the name/), "carried");
        await picture(page, `wake-${name}`);
        await hand.press(button(page, "Wake"));
        await closed(page);
        await page.getByRole("row", { name: /carried.*(online|disabled)/ }).waitFor();
        await daemon.ask("POST", "/v1/services/carried/remove", {});
        for (const gone of ["tank/from", "tank/there"]) await daemon.ask("POST", `/v1/datasets/${encodeURIComponent(gone)}/destroy`, { recursive: true });
      });

      await task("services: a scrub, a trim, a program and tiering", async () => {
        const begin = async (id, kind) => {
          await hand.press(button(page, "New service"));
          await hand.choose(dialog(page).getByRole("button", { name: /^Takes snapshots/ }), kind);
          await hand.type(field(page, "Name"), id);
        };
        const create = async () => {
          await hand.press(button(page, "Create service"));
          await dialog(page).getByText(/does nothing before it is enabled/).waitFor();
          await hand.press(button(page, "Leave it disabled"));
          await closed(page);
        };
        await begin("nightly", /^Scrubs/);
        await hand.tick(dialog(page).getByRole("checkbox", { name: "tank" }));
        await hand.type(field(page, "In these hours alone"), "22:00-06:00");
        await create();
        await begin("trims", /^Trims/);
        await hand.choose(dialog(page).getByRole("button", { name: /^Every day/ }), "Every week");
        await create();
        await begin("tidy", /^Runs a program/);
        await hand.type(field(page, "Program"), "/bin/true");
        await hand.type(field(page, "Arguments, one a line"), "a b");
        await create();
        await begin("old-files", /^Moves or copies files/);
        await hand.type(field(page, "File system"), "tank/data");
        await hand.type(field(page, "Dataset"), "tank/media");
        await hand.type(field(page, "Not changed for"), "1y");
        await create();
        const made = Object.fromEntries((await daemon.ask("GET", "/v1/services")).map(({ id, spec }) => [id, spec]));
        assert.deepEqual([made.nightly.pools, made.nightly.window], [["tank"], { from: 1320, until: 360 }]);
        assert.equal(made.trims.schedule.when.every, "week");
        assert.deepEqual([made.tidy.program, made.tidy.arguments], ["/bin/true", ["a b"]]);
        assert.equal(made["old-files"].choose.older_than, 31_536_000);
      });

      await task("replication: to another pool, tested on a clone, taken over, reversed", async () => {
        await daemon.addPool("backup", ["disk5"]);
        await hand.press(button(page, "New service"));
        await hand.choose(dialog(page).getByRole("button", { name: /^Takes snapshots/ }), /^Replicates/);
        await hand.type(field(page, "Name"), "away");
        await hand.type(field(page, "Dataset that is sent"), "tank/data");
        await hand.type(field(page, "Replica"), "backup/data");
        await hand.choose(dialog(page).getByRole("button", { name: /^Every day/ }), "Every so many hours");
        await hand.type(field(page, "A fault, if it is behind by more than"), "2h");
        await hand.press(button(page, "Create service"));
        await dialog(page).getByText(/is sent, all of it/).waitFor();
        await picture(page, `sync-plan-${name}`);
        await hand.press(button(page, "Enable it"));
        await closed(page);
        await hand.press(page.getByRole("link", { name: "Replication", exact: true }).first());
        await hand.open("Relations", /away/);
        await hand.press(button(page, "Run now"));
        await dialog(page).getByRole("row", { name: /backup\/data.*sync-away/ }).waitFor();
        await picture(page, `relation-${name}`);
        await hand.press(button(page, "Close"));
        await closed(page);
        await page.getByRole("row", { name: /behind, 2 h allowed/ }).waitFor();
        await picture(page, `replication-${name}`);
        await hand.open("Kept here", /backup\/data/);
        await dialog(page).getByRole("columnheader", { name: "Written since" }).waitFor();
        await hand.press(button(page, "Test on clones…"));
        await hand.type(field(page, "Name of the clone, with the pool"), "backup/trial");
        await hand.press(button(page, "Make clones"));
        await dialog(page).getByRole("link", { name: "backup/trial" }).waitFor();
        await hand.press(button(page, "Close"));
        await closed(page);
        await daemon.ask("POST", "/v1/datasets/backup%2Ftrial/destroy", { recursive: true });
        await hand.open("Kept here", /backup\/data/);
        await hand.press(button(page, "Take over…"));
        await hand.tick(dialog(page).getByRole("checkbox"));
        await hand.type(dialog(page).getByLabel(/Type the name/), "backup/data");
        await picture(page, `take-over-${name}`);
        await hand.press(button(page, "Take over"));
        await dialog(page).getByText("backup/data has taken over").waitFor();
        await dialog(page).getByText("tank/data is taken out").waitFor();
        await picture(page, `taken-over-${name}`);
        await hand.press(button(page, "Close"));
        await closed(page);
        await hand.open("Relations", /away/);
        await hand.press(button(page, "Reverse…"));
        await hand.press(button(page, "Reverse"));
        await dialog(page).getByText("Service away goes the other way").waitFor();
        await hand.press(button(page, "Close"));
        await closed(page);
        await page.getByRole("row", { name: /backup\/data.*tank\/data.*away/ }).waitFor();
        // And back, that all that follows finds what it left.
        await daemon.ask("POST", "/v1/services/away/command", { command: "run" });
      });

      await task("replication: an invitation, and a code that is refused", async () => {
        await hand.press(page.getByRole("link", { name: "Replication", exact: true }).first());
        await hand.press(button(page, "Invite one…"));
        await hand.type(page.getByLabel("What it is called here"), "berlin");
        await hand.type(page.getByLabel("It may keep replicas below"), "tank/from-berlin");
        await hand.press(button(page, "Make a code"));
        await page.getByLabel("The code").waitFor();
        await hand.press(button(page, "Close"));
        await closed(page);
        await hand.press(button(page, "Join one…"));
        await hand.type(page.getByLabel("What it is called here"), "paris");
        await hand.type(page.getByLabel("Its address"), "127.0.0.1:1");
        await hand.type(page.getByLabel("Code of its invitation"), "AAAA");
        await hand.press(button(page, "Join"));
        await dialog(page).getByRole("alert").waitFor();
        await hand.press(button(page, "Cancel"));
        await closed(page);
      });

      await task("replication: what another appliance may read is allowed, and denied", async () => {
        await daemon.ask("POST", "/v1/peers", { name: "rome", fingerprint: "AB".repeat(32) });
        await hand.press(page.getByRole("link", { name: "Jobs" }));
        await hand.press(page.getByRole("link", { name: "Replication", exact: true }).first());
        await hand.press(page.getByRole("listitem").filter({ hasText: "rome" }).getByRole("button", { name: "What it may do…" }));
        await dialog(page).getByText("It may do nothing here.").waitFor();
        await hand.type(field(page, "Dataset"), "tank/data");
        await hand.tick(dialog(page).getByRole("checkbox"));
        await hand.press(button(page, "Allow"));
        await dialog(page).getByText("reads tank/data and all below, and makes snapshots of it").waitFor();
        await picture(page, `peer-rights-${name}`);
        const reads = async () => (await daemon.ask("GET", "/v1/peers")).find((peer) => peer.name === "rome").reads;
        assert.deepEqual(await reads(), [{ dataset: "tank/data", snapshots: true, absence: { seconds: 30 * 86_400, bytes: null } }]);
        await hand.press(button(page, "Deny tank/data"));
        await dialog(page).getByText("It may do nothing here.").waitFor();
        assert.deepEqual(await reads(), []);
        await hand.choose(dialog(page).getByRole("button", { name: /read a dataset/ }), "keep replicas below a dataset");
        await hand.type(field(page, "Dataset"), "tank/data");
        await hand.type(dialog(page).getByLabel("Newest kept here"), "96");
        await hand.type(dialog(page).getByLabel("And those no older than"), "many");
        await dialog(page).getByText("A time, as 90s").waitFor();
        assert.ok(await button(page, "Allow").isDisabled());
        await hand.type(dialog(page).getByLabel("And those no older than"), "90d");
        await hand.press(button(page, "Allow"));
        await dialog(page).getByText("The newest 96 stay here, and those no older than 90d.").waitFor();
        const grants = async () => (await daemon.ask("GET", "/v1/peers")).find((peer) => peer.name === "rome").grants;
        assert.deepEqual(await grants(), [{ dataset: "tank/data", append_only: false, keep: { count: 96, age: 90 * 86_400 } }]);
        // What was allowed is changed, and nothing else of it is.
        await hand.press(button(page, "Change tank/data"));
        await hand.tick(dialog(page).getByRole("checkbox"));
        await hand.press(button(page, "Allow"));
        await dialog(page).getByText("and destroys none of what it sent").waitFor();
        assert.deepEqual(await grants(), [{ dataset: "tank/data", append_only: true, keep: { count: 96, age: 90 * 86_400 } }]);
        await hand.press(button(page, "Cancel"));
        await closed(page);
        await daemon.ask("POST", "/v1/peers/rome/remove");
      });

      await task("jobs: one is opened", async () => {
        await hand.press(page.getByRole("link", { name: "Jobs" }));
        await hand.open("Jobs", /pool\.create/);
        await dialog(page).getByText("pool.create").waitFor();
        await hand.press(button(page, "Close"));
        await closed(page);
      });

      await task("users and tokens: a user, a token that is shown once", async () => {
        await hand.press(page.getByRole("link", { name: "Users and tokens" }));
        await hand.press(button(page, "New user"));
        await hand.type(dialog(page).getByLabel("Name"), "olga");
        await hand.type(dialog(page).getByLabel("Password"), PASSWORD);
        await hand.choose(dialog(page).getByRole("button", { name: /Read-only/ }), "Operator");
        await hand.press(button(page, "Create user"));
        await closed(page);
        await page.getByRole("row", { name: /olga.*operator/ }).waitFor();
        await hand.open("Users", /olga/);
        await hand.tick(dialog(page).getByRole("checkbox"));
        await hand.press(button(page, "Save"));
        await closed(page);
        await page.getByRole("row", { name: /olga.*disabled/ }).waitFor();
        if (name === "mouse") await page.getByRole("tab", { name: "Tokens" }).click();
        else {
          await hand.reach(page.getByRole("tab", { name: "Users" }));
          await page.keyboard.press("ArrowRight");
        }
        await hand.press(button(page, "New token"));
        await hand.type(dialog(page).getByLabel("Name"), "backup");
        await hand.press(button(page, "Create token"));
        const secret = await page.getByLabel("The token").textContent();
        assert.match(secret, /^cistern_/);
        await hand.press(button(page, "I have it"));
        await closed(page);
        await page.getByRole("row", { name: /backup/ }).waitFor();
      });

      await task("settings: a threshold, a route, the log level, where copies are kept, a tunable", async () => {
        const tab = async (from, to) => {
          if (name === "mouse") return page.getByRole("tab", { name: to }).click();
          await hand.reach(page.getByRole("tab", { name: from }));
          return page.keyboard.press("ArrowRight");
        };
        await hand.press(page.getByRole("link", { name: "Settings" }));
        await hand.type(page.getByLabel("Full pool: warning"), "75");
        await hand.press(button(page, "Save thresholds"));
        await page.getByText("Saved").waitFor();
        assert.equal((await daemon.ask("GET", "/v1/alert-settings")).full_warning, 75);
        await hand.press(button(page, "New route"));
        await hand.type(field(page, "Name"), "log");
        await hand.choose(dialog(page).getByRole("button", { name: /^Mail/ }), "Syslog");
        await picture(page, `route-${name}`);
        await hand.press(button(page, "Create route"));
        await closed(page);
        await page.getByText("syslog of this machine, from warning on").waitFor();
        await hand.menu(button(page, "Actions of route log"), "Remove…");
        await hand.type(dialog(page).getByLabel(/Type the name/), "log");
        await hand.press(button(page, "Remove"));
        await closed(page);
        await tab("Faults", "Machine");
        await page.getByText("Services go by the machine's clock").waitFor();
        const level = page.getByLabel("Level", { exact: true });
        const was = await level.inputValue();
        await hand.type(level, "info,nfs=debug");
        await hand.press(button(page, "Save log level"));
        await page.waitForFunction(() => document.querySelector("main button[type=submit][data-disabled]"));
        assert.equal((await daemon.ask("GET", "/v1/log")).filter, "info,nfs=debug");
        await daemon.ask("POST", "/v1/log", { filter: was });
        await hand.press(button(page, "Keep them in…"));
        await hand.press(button(page, "Keep them there"));
        await closed(page);
        await page.getByText(/Kept in pool/).waitFor();
        await picture(page, `settings-machine-${name}`);
        await tab("Machine", "Tunables");
        await hand.type(page.getByLabel("Search tunables"), "zfs_txg_timeout");
        await hand.open("Tunables", /zfs_txg_timeout/);
        await hand.type(field(page, "Value of zfs_txg_timeout"), "4");
        await hand.press(button(page, "Save"));
        await closed(page);
        await page.getByRole("row", { name: /zfs_txg_timeout.*4/ }).waitFor();
        await picture(page, `settings-tunables-${name}`);
      });

      await task("shell: what the account may do, and nothing with files; left by a key, found again, closed", async () => {
        const shows = (text) => page.locator(".xterm-accessibility-tree").getByText(text).first().waitFor();
        const enter = () => (Hand === Mouse ? page.locator(".shell-screen").click() : hand.reach(page.getByLabel(/^Terminal:/)));
        await hand.press(page.getByRole("link", { name: "Shell", exact: true }));
        await shows("'help' says what there is");
        await page.getByText("Open", { exact: true }).waitFor();
        await enter();
        await page.keyboard.type("zfs create tank/of-the-shell\n");
        await page.keyboard.type("apply /etc/passwd\n");
        await shows(/this shell has no files/);
        await page.keyboard.type("zfs list -o na\t");
        await picture(page, `shell-${name}`);
        await page.keyboard.press("Control+C");
        const names = (await daemon.ask("GET", "/v1/datasets?kinds=filesystem")).map((one) => one.name);
        assert.ok(names.includes("tank/of-the-shell"));
        await page.keyboard.press("F6");
        assert.equal(await page.evaluate(() => document.activeElement.textContent), "Close the shell");
        await page.reload();
        await shows(/this shell has no files/);
        // Tab alone stays in the terminal.
        await enter();
        await page.keyboard.press("F6");
        await hand.press(button(page, "Close the shell"));
        await page.getByText("The shell was closed.").waitFor();
        await hand.press(button(page, "Open a new shell"));
        await page.getByText("Open", { exact: true }).waitFor();
        await shows("cistern local administrator>");
        // It has the keys already.
        await page.keyboard.type("exit\n");
        await page.getByText("The shell has ended.").waitFor();
      });

      await task("audit log: what was done is there", async () => {
        await hand.press(page.getByRole("link", { name: "Audit log" }));
        await page.getByRole("row", { name: /ada.*\/v1\/users.*olga/ }).first().waitFor();
        await hand.type(page.getByLabel("Only of this account"), "nobody-of-this-name");
        await page.getByText("Nothing was done by that account.").waitFor();
      });

      if (Hand === Mouse) {
        for (const theme of ["light", "dark"]) {
          await task(`no serious finding of axe, ${theme}`, async () => {
            await page.emulateMedia({ colorScheme: theme });
            for (const path of PAGES) {
              await go(page, `/${path}`);
              await page.getByRole("heading", { level: 1 }).waitFor();
              await page.getByText("Loading…").first().waitFor({ state: "detached" });
              await picture(page, `${path.replace(/\W+/g, "-") || "dashboard"}-${theme}`);
              await judge(page, `${path}, ${theme}`);
            }
          });
        }
        await task("a phone shows each page without scrolling sideways", async () => {
          await page.setViewportSize({ width: 390, height: 844 });
          for (const path of PAGES) {
            await go(page, `/${path}`);
            await page.getByRole("heading", { level: 1 }).waitFor();
            const [wide, seen] = await page.evaluate(() => [document.querySelector("main").scrollWidth, document.querySelector("main").clientWidth]);
            assert.ok(wide <= seen, `${path} is ${wide} pixels wide`);
            await picture(page, `${path.replace(/\W+/g, "-") || "dashboard"}-phone`);
          }
          await page.setViewportSize({ width: 1366, height: 850 });
        });
      }

      await task("sign out, and in", async () => {
        await go(page, "/");
        await hand.menu(button(page, "Account and look"), "Sign out");
        await hand.type(page.getByLabel("Name"), "ada");
        await hand.type(page.getByLabel("Password"), "wrong password");
        await hand.press(button(page, "Sign in"));
        await page.getByRole("alert").waitFor();
        await judge(page, "sign in");
        await hand.type(page.getByLabel("Password"), PASSWORD);
        await hand.press(button(page, "Sign in"));
        await page.getByRole("heading", { level: 1, name: "Dashboard" }).waitFor();
      });

      await task("the browser has kept nothing from happening", async () => {
        assert.equal(await daemon.violations(), 0);
      });
    } finally {
      await page.context().close();
      await daemon.end();
    }
  });
}
