// A daemon with real pools on files, Chromium, and two hands: one has a mouse, the other a keyboard alone.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { closeSync, ftruncateSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const { CISTERN_PROGRAM: program, CISTERN_SCREENS: screens } = process.env;
export const PASSWORD = "correct horse battery";
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export class Daemon {
  constructor({ disks = 4 } = {}) {
    this.folder = mkdtempSync(join(tmpdir(), "console-test-"));
    this.state = join(this.folder, "state");
    mkdirSync(join(this.state, "disks"), { recursive: true });
    for (let at = 1; at <= disks; at += 1) this.addDisk(`disk${at}`);
    this.https = "127.0.0.1:0";
  }

  /** Its path. */
  addDisk(name) {
    const path = join(this.state, "disks", `${name}.img`);
    const file = openSync(path, "w");
    ftruncateSync(file, 1 << 30);
    closeSync(file);
    return path;
  }

  async start() {
    const options = ["--https", this.https, "--nfs", "127.0.0.1:0", "--config", "off", "--search", join(this.state, "disks"), "--cache", "256M", "--checks-every", "1s"];
    this.child = spawn(program, ["serve", "--state", this.state, ...options], { stdio: ["ignore", "pipe", "pipe"] });
    let banner = "";
    let log = "";
    this.child.stderr.on("data", (data) => { log = (log + data).slice(-20_000); });
    await new Promise((done, fail) => {
      this.child.on("exit", (code) => fail(new Error(`the daemon ended with ${code}: ${banner}${log}`)));
      this.child.stdout.on("data", (data) => {
        banner += data;
        if (banner.includes("Ctrl-C")) done();
      });
    });
    const found = (pattern) => pattern.exec(banner)?.[1];
    this.https = found(/web +https:\/\/(\S+)/);
    this.url = `https://${this.https}`;
    this.code = found(/code ([A-Z0-9-]+)/) ?? this.code;
    this.nfs = found(/NFS +127\.0\.0\.1:(\d+)/);
    this.banner = banner;
    this.log = () => log;
    return this;
  }

  async stop() {
    const ended = new Promise((done) => this.child.on("exit", done));
    this.child.removeAllListeners("exit");
    this.child.on("exit", () => {});
    const gone = new Promise((done) => this.child.once("exit", done));
    this.child.kill("SIGTERM");
    await Promise.race([ended, gone]);
  }

  async end() {
    if (this.child?.exitCode === null) await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Asks by the socket, as root does: another administrator, who is no browser. A job is waited for. */
  async ask(verb, path, body) {
    let answer = await this.#once(verb, path, body);
    while (verb === "POST" && answer?.state === "running" && answer.cancellable !== undefined) {
      answer = await this.#once("GET", `/v1/jobs/${answer.id}?wait_ms=1000`);
    }
    if (answer?.problem) throw new Error(`${path}: ${answer.problem.detail}`);
    return answer;
  }

  #once(verb, path, body) {
    return new Promise((done, fail) => {
      const text = body === undefined ? "" : JSON.stringify(body);
      const headers = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text) };
      const asked = request({ socketPath: join(this.state, "cistern.sock"), method: verb, path, headers }, (answer) => {
        let got = "";
        answer.on("data", (data) => { got += data; });
        answer.on("end", () => {
          if (![200, 202].includes(answer.statusCode)) fail(new Error(`${verb} ${path}: ${answer.statusCode} ${got}`));
          else done(answer.headers["content-type"]?.startsWith("application/json") ? JSON.parse(got) : got);
        });
      });
      asked.on("error", fail);
      asked.end(text);
    });
  }

  /** How often browsers said that the console did what its policy forbids. */
  async violations() {
    return Number(/^cistern_console_violations_total (\d+)$/m.exec(await this.ask("GET", "/metrics"))[1]);
  }

  /** What a command of the program says. */
  run(...words) {
    return execFileSync(program, words, { timeout: 60_000, env: { ...process.env, CISTERN_SOCKET: join(this.state, "cistern.sock") } }).toString();
  }

  makePool(name = "tank") {
    const vdevs = [1, 2].map((pair) => ({ mirror: [2 * pair - 1, 2 * pair].map((at) => ({ leaf: join(this.state, "disks", `disk${at}.img`) })) }));
    return this.ask("POST", "/v1/pools", { name, vdevs });
  }

  /** A pool of new disks, without redundancy. */
  addPool(name, disks) {
    return this.ask("POST", "/v1/pools", { name, vdevs: disks.map((disk) => ({ leaf: this.addDisk(disk) })) });
  }

  addUser(name, role = "administrator") {
    return this.ask("POST", "/v1/users", { name, password: PASSWORD, role });
  }
}

let browser;
export const begin = async () => {
  const path = process.env.CHROMIUM ?? "/usr/bin/chromium";
  // Chromium has no sandbox for root, and tests run as root.
  browser = await chromium.launch({ executablePath: path, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
};
export const end = () => browser?.close();

/** A window with nothing from before, and what went wrong in it. */
export async function visit(daemon, options = {}) {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1366, height: 850 }, colorScheme: "light", ...options });
  context.setDefaultTimeout(30_000);
  const page = await context.newPage();
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(error.stack ?? error.message));
  page.on("console", (message) => {
    // What is refused is said on the page, and the browser says it, too.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) page.faults.push(message.text());
  });
  await page.goto(daemon.url);
  return page;
}

export const go = async (page, path) => {
  await page.evaluate((to) => { location.hash = to; }, `#${path}`);
};

/** Signs in by the form. */
export async function signIn(page, name = "ada") {
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { level: 1, name: "Dashboard" }).waitFor();
}

export const picture = (page, name) => page.screenshot({ path: join(screens, `${name}.png`) });

/** No finding that is serious, by axe-core: WCAG 2.2 A and AA, and best practices. */
export async function judge(page, name) {
  const client = await page.context().newCDPSession(page);
  // Not by a script of the page, which its policy would forbid.
  await client.send("Runtime.evaluate", { expression: axe });
  const expression = "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => JSON.stringify(violations))";
  const { result } = await client.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
  await client.detach();
  const serious = JSON.parse(result.value).filter(({ impact }) => impact === "serious" || impact === "critical");
  assert.deepEqual(serious.map(({ id, nodes }) => [id, nodes.slice(0, 3).map(({ html }) => html)]), [], `axe on ${name}`);
}

/** With a mouse. */
export class Mouse {
  constructor(page) {
    this.page = page;
    this.name = "mouse";
  }
  press(target) { return target.click(); }
  type(target, text) { return target.fill(text); }
  async choose(target, option) {
    await target.click();
    await this.page.getByRole("option", { name: option }).first().click();
  }
  radio(target) { return target.locator("xpath=ancestor-or-self::label").first().click(); }
  async menu(target, item) {
    await target.click();
    await this.page.getByRole("menuitem", { name: item }).click();
  }
  tick(target) { return target.locator("xpath=ancestor-or-self::label").first().click(); }
  line(grid, text) {
    const place = this.page.getByRole("grid", { name: grid, exact: true }).or(this.page.getByRole("treegrid", { name: grid, exact: true }));
    return place.getByRole("row", { name: text }).first();
  }
  open(grid, text) { return this.line(grid, text).getByRole("gridcell").nth(1).dblclick(); }
  select(grid, text) { return this.line(grid, text).getByRole("gridcell").first().click(); }
}

const MOST_TABS = 120;

/** With a keyboard alone: whatever is pressed was reached by the Tab key. */
export class Keyboard {
  constructor(page) {
    this.page = page;
    this.name = "keyboard";
    this.keys = page.keyboard;
  }
  async reach(target) {
    await target.waitFor();
    for (let count = 0; count < MOST_TABS; count += 1) {
      if (await target.evaluate((node) => node === document.activeElement || (node.tagName === "LABEL" && node.contains(document.activeElement)))) return;
      await this.keys.press("Tab");
    }
    throw new Error(`the Tab key does not lead to ${target}`);
  }
  async press(target) {
    await this.reach(target);
    await this.keys.press("Enter");
  }
  async type(target, text) {
    await this.reach(target);
    await this.keys.press("Control+A");
    await this.keys.press("Delete");
    await this.keys.type(text);
  }
  async choose(target, option) {
    await this.reach(target);
    await this.keys.press("Enter");
    const wanted = this.page.getByRole("option", { name: option }).first();
    await wanted.waitFor();
    for (let count = 0; count < 40; count += 1) {
      if (await wanted.evaluate((node) => node === document.activeElement)) break;
      await this.keys.press(count < 20 ? "ArrowDown" : "ArrowUp");
    }
    await this.keys.press("Enter");
    await wanted.waitFor({ state: "detached" });
  }
  async radio(target) {
    const group = target.locator("xpath=ancestor::*[@role='radiogroup']");
    await this.reach(group.locator("input:checked").or(group.locator("input").first()).first());
    for (let count = 0; count < 20 && !(await target.isChecked()); count += 1) await this.keys.press("ArrowDown");
    assert.ok(await target.isChecked());
  }
  async menu(target, item) {
    await this.reach(target);
    await this.keys.press("Enter");
    const wanted = this.page.getByRole("menuitem", { name: item });
    await wanted.waitFor();
    for (let count = 0; count < 20; count += 1) {
      if (await wanted.evaluate((node) => node === document.activeElement)) break;
      await this.keys.press("ArrowDown");
    }
    await this.keys.press("Enter");
  }
  async tick(target) {
    await this.reach(target);
    await this.keys.press("Space");
  }
  async mark(grid, text) {
    const place = this.page.getByRole("grid", { name: grid, exact: true }).or(this.page.getByRole("treegrid", { name: grid, exact: true }));
    const wanted = place.getByRole("row", { name: text }).first();
    await wanted.waitFor();
    await this.reach(place);
    await this.keys.press("Home");
    for (let count = 0; count < 200; count += 1) {
      const [id, marked] = [await wanted.getAttribute("id"), await place.getAttribute("aria-activedescendant")];
      if (id === marked) return;
      await this.keys.press("ArrowDown");
    }
    throw new Error(`the arrow keys do not lead to ${text}`);
  }
  async open(grid, text) {
    await this.mark(grid, text);
    await this.keys.press("Enter");
  }
  async select(grid, text) {
    await this.mark(grid, text);
    await this.keys.press("Space");
  }
}
