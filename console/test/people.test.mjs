// What goes wrong around the console: sessions that end, two administrators, names that lie, a daemon that restarts.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, test } from "node:test";
import { Daemon, PASSWORD, begin, end, go, picture, signIn, visit } from "./kit.mjs";

let daemon;

before(async () => {
  await begin();
  daemon = await new Daemon().start();
  await daemon.makePool();
  await daemon.ask("POST", "/v1/datasets", { name: "tank/data" });
  await daemon.addUser("ada");
});
after(async () => {
  await end();
  await daemon?.end();
});

const button = (page, name) => page.getByRole("button", { name, exact: true });
const dialog = (page) => page.getByRole("dialog").or(page.getByRole("alertdialog"));
const propertiesOf = (name) => `/v1/datasets/${encodeURIComponent(name)}/properties`;

/** A window of somebody who is in, and what goes wrong in it is a failure. */
async function as(name, work) {
  const page = await visit(daemon);
  try {
    await signIn(page, name);
    await work(page);
    assert.deepEqual(page.faults, []);
  } catch (error) {
    await picture(page, `failed-${Date.now()}`);
    throw error;
  } finally {
    await page.context().close();
  }
}

test("a session that ends keeps what was typed, and it is sent once somebody is in again", () => as("ada", async (page) => {
  await go(page, "/datasets");
  await button(page, "New dataset").click();
  await dialog(page).getByLabel("Name").fill("late");
  for (const { id } of await daemon.ask("GET", "/v1/sessions")) await daemon.ask("POST", `/v1/sessions/${id}/end`);
  await button(page, "Create").click();
  await page.getByRole("heading", { name: "Your session has ended" }).waitFor();
  await picture(page, "session-ended");
  await page.getByLabel("Password").fill(PASSWORD);
  await button(page, "Sign in").click();
  await page.getByRole("heading", { name: "Your session has ended" }).waitFor({ state: "detached" });
  await page.getByRole("row", { name: /late/ }).waitFor();
  const names = (await daemon.ask("GET", "/v1/datasets?kinds=filesystem")).map(({ name }) => name);
  assert.equal(names.filter((name) => name === "tank/late").length, 1);
}));

test("of two administrators the second sees what the first has changed", () => as("ada", async (page) => {
  await go(page, "/datasets/tank%2Fdata");
  await page.getByLabel("Search properties").fill("compression");
  await page.getByRole("row", { name: /compression/ }).dblclick();
  await dialog(page).getByLabel("Value of compression").fill("zstd");
  await daemon.ask("POST", propertiesOf("tank/data"), { props: [{ name: "compression", value: "gzip" }] });
  await button(page, "Save").click();
  await page.getByText("Meanwhile it was set to gzip.").waitFor();
  await picture(page, "conflict");
  await button(page, "Save").click();
  await dialog(page).waitFor({ state: "detached" });
  await page.getByRole("row", { name: /zstd.*set here/ }).waitFor();
}));

test("names that lie are text, and what is not seen of them is shown", () => as("ada", async (page) => {
  const evil = `"><img src=x onerror="window.hit=1">'\u202egnp.exe\u200b`;
  await daemon.ask("POST", propertiesOf("tank/data"), { props: [{ name: "evil:note", value: evil }] });
  await daemon.ask("POST", "/v1/snapshots", { names: ["tank/data@s"], props: [{ name: "evil:note", value: evil }] });
  await go(page, "/datasets/tank%2Fdata");
  await page.getByLabel("Search properties").fill("evil");
  const row = page.getByRole("row", { name: /evil:note/ });
  await row.waitFor();
  const text = await row.textContent();
  assert.ok(text.includes("<img src=x") && text.includes("⟨U+202E⟩") && text.includes("⟨U+200B⟩"), text);
  await row.dblclick();
  await dialog(page).getByText("⟨U+202E⟩").first().waitFor();
  await button(page, "Cancel").click();
  // A name in an address is looked up, and never anything else.
  await go(page, `/datasets/${encodeURIComponent(evil)}`);
  await page.getByRole("alert").first().waitFor();
  assert.equal(await page.evaluate(() => window.hit), undefined);
  assert.equal(await page.locator("img").count(), 0);
}));

test("two tabs share one stream, and both are live", () => as("ada", async (page) => {
  const streams = [];
  const count = (request) => request.url().includes("/v1/events/stream") && streams.push(request);
  page.context().on("request", count);
  const other = await page.context().newPage();
  await other.goto(`${daemon.url}/#/datasets`);
  await go(page, "/datasets");
  for (const tab of [page, other]) await tab.getByText("Live", { exact: true }).waitFor();
  await daemon.ask("POST", "/v1/datasets", { name: "tank/seen" });
  for (const tab of [page, other]) await tab.getByRole("row", { name: /seen/ }).waitFor();
  assert.equal(streams.length, 0, "the second tab has opened a stream of its own");
  // The one that has the stream goes: the other takes over, behind what it has heard.
  await page.close();
  await daemon.ask("POST", "/v1/datasets", { name: "tank/after" });
  await other.getByRole("row", { name: /after/ }).waitFor();
  assert.equal(streams.length, 1);
  assert.match(streams[0].url(), /after=/);
}));

test("a daemon that restarts is found again, and what happened meanwhile is seen", () => as("ada", async (page) => {
  await go(page, "/datasets");
  await page.getByRole("row", { name: /tank/ }).first().waitFor();
  daemon.https = daemon.url.slice("https://".length);
  await daemon.stop();
  await page.getByText("Connecting", { exact: true }).waitFor();
  await daemon.start();
  await daemon.ask("POST", "/v1/datasets", { name: "tank/reborn" });
  await page.getByText("Live", { exact: true }).waitFor({ timeout: 40_000 });
  await page.getByRole("row", { name: /reborn/ }).waitFor();
}));

test("a shell ends with its session, and where the daemon has restarted", () => as("ada", async (page) => {
  await go(page, "/shell");
  const open = () => page.locator(".xterm-accessibility-tree").getByText("cistern local administrator>").first().waitFor();
  await open();
  const again = page.getByRole("heading", { name: "Your session has ended" });
  for (const { id } of await daemon.ask("GET", "/v1/sessions")) await daemon.ask("POST", `/v1/sessions/${id}/end`);
  await page.getByText("because the session that opened it has").waitFor();
  // Whatever the page has asked for first, it asks for the password.
  if (!(await again.isVisible())) await button(page, "Open a new shell").click();
  await again.waitFor();
  await page.getByLabel("Password").fill(PASSWORD);
  await button(page, "Sign in").click();
  await again.waitFor({ state: "detached" });
  if (await button(page, "Open a new shell").isVisible()) await button(page, "Open a new shell").click();
  await open();
  daemon.https = daemon.url.slice("https://".length);
  await daemon.stop();
  await page.getByText("The connection is lost; it is tried again").waitFor();
  await daemon.start();
  await page.getByText("This shell is there no more.").waitFor({ timeout: 40_000 });
  await button(page, "Open a new shell").click();
  await open();
  assert.equal(await daemon.violations(), 0);
}));

test("a list of more than a thousand is a page of few", () => as("ada", async (page) => {
  const [datasets, rounds] = [40, 30];
  const named = (at) => String(at).padStart(2, "0");
  for (let at = 0; at < datasets; at += 1) await daemon.ask("POST", "/v1/datasets", { name: `tank/many/d${named(at)}`, parents: true });
  for (let at = 0; at < rounds; at += 1) await daemon.ask("POST", "/v1/snapshots", { names: [`tank/many@n${named(at)}`], recursive: true });
  const begun = Date.now();
  await go(page, "/snapshots");
  const grid = page.getByRole("grid", { name: "Snapshots" });
  await grid.getByRole("row", { name: /tank.*n00/ }).first().waitFor();
  const took = Date.now() - begun;
  await grid.focus();
  // Each press goes to the end of what was read: the rest is read then.
  const last = grid.getByRole("row", { name: new RegExp(`d${named(datasets - 1)}.*n${named(rounds - 1)}`) });
  for (let count = 0; count < 50 && !(await last.isVisible()); count += 1) {
    await page.keyboard.press("End");
    await page.waitForTimeout(200);
  }
  await last.waitFor();
  assert.ok((await grid.getByRole("row").count()) < 80, "more rows are in the page than are in sight");
  console.log(`${(datasets + 1) * rounds} snapshots: the first are there after ${took} ms`);
}));

const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** The code of an authenticator (RFC 6238). */
function codeOf(secret, time = Date.now()) {
  const bits = [...secret.replace(/[ =]/g, "")].map((one) => BASE32.indexOf(one).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(time / 30_000)));
  const mac = createHmac("sha1", key).update(counter).digest();
  return String((mac.readUInt32BE(mac[19] & 15) & 0x7fffffff) % 1_000_000).padStart(6, "0");
}

test("an account with a second factor is asked for it", async () => {
  await daemon.addUser("tom", "operator");
  const offer = await daemon.ask("POST", "/v1/users/tom/totp", {});
  // One code counts once: the one of half a minute ago confirms, that of now signs in.
  await daemon.ask("POST", "/v1/users/tom/totp/confirm", { code: codeOf(offer.secret, Date.now() - 30_000) });
  const page = await visit(daemon);
  await page.getByLabel("Name").fill("tom");
  await page.getByLabel("Password").fill(PASSWORD);
  await button(page, "Sign in").click();
  await page.getByLabel("Code").fill(codeOf(offer.secret));
  await picture(page, "second-factor");
  await button(page, "Continue").click();
  await page.getByRole("heading", { level: 1, name: "Dashboard" }).waitFor();
  // An operator has no audit log, and sees no button for what he may not do.
  assert.equal(await page.getByRole("link", { name: "Audit log" }).count(), 0);
  await go(page, "/shares");
  await page.getByRole("heading", { level: 1, name: "Shares" }).waitFor();
  assert.equal(await button(page, "New share").count(), 0);
  await page.context().close();
});

test("what a browser reports is counted, and the policy is on every file", async () => {
  assert.equal(await daemon.violations(), 0);
  const page = await visit(daemon);
  const index = await page.request.get(daemon.url);
  assert.match(index.headers()["content-security-policy"], /default-src 'none'.*require-trusted-types-for 'script'/);
  assert.equal(index.headers()["cache-control"], "no-cache");
  // A script that somebody got into the page does not run, and is reported.
  await page.evaluate(() => {
    const script = document.createElement("style");
    script.textContent = "body { color: red }";
    document.head.append(script);
  });
  await page.waitForTimeout(500);
  assert.ok((await daemon.violations()) > 0);
  await page.context().close();
});
