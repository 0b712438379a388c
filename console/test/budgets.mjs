// What the console takes of time, bytes and memory in a large appliance: a daemon with real pools of 60 disks, 10,000 datasets,
// 100,000 snapshots and 1,000 volumes, and Chromium's own figures. It prints the tables of docs/performance.md.
//
// CISTERN_MINUTES is how long two tabs with live charts are watched; SMALL=1 tries it with a hundredth of everything.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Daemon, begin, end, signIn, visit } from "./kit.mjs";

const part = process.env.SMALL ? 100 : 1;
const [DISKS, DATASETS, ROUNDS, VOLUMES] = [60, 10_000 / part, 10, 1000 / part];
const MINUTES = Number(process.env.CISTERN_MINUTES ?? 10);
const TURNS = 5;
/** Places of the menu, and what is in sight when each can be used: more than its frame. */
const PAGES = [
  ["Dashboard", "table, .meter"], ["Faults", "main .card"], ["Pools", ".vdev"], ["Datasets", ".line"], ["Snapshots", ".line"], ["Shares", ".line, .empty"],
  ["Volumes and targets", ".line"], ["Services", ".line, .empty"], ["Replication", ".empty, .line"], ["Jobs", ".line"], ["Users and tokens", ".line"], ["Audit log", ".line"],
  ["Settings", "#thresholds + form"], ["About", "dd"],
];
const tell = (text) => process.stderr.write(`${text}\n`);
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const kB = (bytes) => `${Math.round(bytes / 1000)} kB`;
const MB = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

/** Does all of it, so many at once. */
async function each(count, atOnce, work) {
  let next = 0;
  await Promise.all(Array.from({ length: atOnce }, async () => {
    while (next < count) await work(next++);
  }));
}

async function fill(daemon) {
  const disks = Array.from({ length: DISKS }, (_, at) => join(daemon.state, "disks", `disk${at + 1}.img`));
  const vdevs = Array.from({ length: DISKS / 10 }, (_, at) => ({ raidz: { parity: 2, children: disks.slice(at * 10, at * 10 + 10).map((leaf) => ({ leaf })) } }));
  await daemon.ask("POST", "/v1/pools", { name: "tank", vdevs });
  const name = (kind, at) => `tank/${kind}${Math.floor(at / 100)}/${at}`;
  for (let at = 0; at < DATASETS; at += 100) await daemon.ask("POST", "/v1/datasets", { name: `tank/d${at / 100}` });
  await each(DATASETS, 16, async (at) => { if (at % 100 !== 0) await daemon.ask("POST", "/v1/datasets", { name: name("d", at), no_mount: true }); });
  tell(`${DATASETS} datasets`);
  for (let at = 0; at < VOLUMES; at += 100) await daemon.ask("POST", "/v1/datasets", { name: `tank/v${at / 100}` });
  await each(VOLUMES, 16, (at) => daemon.ask("POST", "/v1/datasets", { name: name("v", at), volume: true, sparse: true, props: [{ name: "volsize", value: String(1 << 30) }] }));
  tell(`${VOLUMES} volumes`);
  for (let at = 0; at < ROUNDS; at += 1) await daemon.ask("POST", "/v1/snapshots", { names: [`tank@round${at}`], recursive: true });
  tell(`${ROUNDS} snapshots of each`);
}

/** Milliseconds from a press on a place of the menu until its page can be used, as the page itself sees it. */
const pressed = (page, name, sign) => page.evaluate(async ([text, wanted]) => {
  const link = [...document.querySelectorAll("nav a")].find((one) => one.firstChild.textContent === text);
  const begun = performance.now();
  link.click();
  for (;;) {
    await new Promise((done) => { requestAnimationFrame(() => { const { port1, port2 } = new MessageChannel(); port1.onmessage = done; port2.postMessage(0); }); });
    const main = document.querySelector("main");
    const isThere = main.querySelector("h1")?.textContent === text && main.querySelector(wanted) && !main.textContent.includes("Loading…");
    if (isThere || performance.now() - begun > 30_000) return performance.now() - begun;
  }
}, [name, sign]);

async function pages(daemon) {
  const page = await visit(daemon);
  await signIn(page);
  await page.waitForTimeout(3000);
  const rows = [];
  for (const [name, sign] of PAGES) {
    const took = [];
    for (let turn = 0; turn < TURNS; turn += 1) {
      await pressed(page, name === "About" ? "Jobs" : "About", name === "About" ? ".line" : "dd");
      // What was read before is as good as not read.
      await page.waitForTimeout(turn === 0 ? 0 : 300);
      took.push(await pressed(page, name, sign));
    }
    rows.push([name, took[0], median(took.slice(1))]);
    tell(`${name}: ${took.map(Math.round).join(" ")} ms`);
  }
  await page.context().close();
  return rows;
}

/** First paint with nothing kept, and what the first route takes; and the same once files are kept. */
async function paints(daemon) {
  const seen = (page) => page.evaluate(() => ({
    paint: performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Number.NaN,
    script: performance.getEntriesByType("resource").filter(({ name }) => name.endsWith(".js")).reduce((sum, one) => sum + one.encodedBodySize, 0),
  }));
  const [cold, warm] = [[], []];
  for (let turn = 0; turn < TURNS; turn += 1) {
    const page = await visit(daemon);
    await page.getByLabel("Name").waitFor();
    cold.push(await seen(page));
    await signIn(page);
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "Dashboard" }).waitFor();
    warm.push(await seen(page));
    await page.context().close();
  }
  return { cold: median(cold.map(({ paint }) => paint)), warm: median(warm.map(({ paint }) => paint)), script: cold[0].script };
}

/** Seconds of processor that a process has used. */
function processorOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

async function heapOf(page) {
  const client = await page.context().newCDPSession(page);
  await client.send("HeapProfiler.collectGarbage");
  const { usedSize } = await client.send("Runtime.getHeapUsage");
  await client.detach();
  return usedSize;
}

/** Two tabs with live charts: what they keep in memory, and what the daemon takes for them. */
async function watched(daemon) {
  const rest = 60;
  const idle = processorOf(daemon.child.pid);
  await new Promise((done) => { setTimeout(done, rest * 1000); });
  const alone = (processorOf(daemon.child.pid) - idle) / rest;
  const page = await visit(daemon);
  await signIn(page);
  const other = await page.context().newPage();
  await other.goto(daemon.url);
  await other.getByRole("heading", { level: 1, name: "Dashboard" }).waitFor();
  await page.waitForTimeout(60_000);
  const heaps = [[await heapOf(page), await heapOf(other)]];
  const begun = processorOf(daemon.child.pid);
  for (let minute = 0; minute < MINUTES; minute += 1) {
    // A tab that is not in sight does less: each is in front by turns.
    await (minute % 2 ? page : other).bringToFront();
    await page.waitForTimeout(60_000);
    heaps.push([await heapOf(page), await heapOf(other)]);
    tell(`after ${minute + 1} min: ${heaps.at(-1).map(MB).join(" and ")}`);
  }
  const taken = (processorOf(daemon.child.pid) - begun) / (MINUTES * 60);
  await page.context().close();
  return { heaps, each: (taken - alone) / 2, alone };
}

/** Compressed bytes of scripts, by `npm run build`. */
function sizes() {
  const folder = join(dirname(fileURLToPath(import.meta.url)), "../../target/console");
  const list = readFileSync(join(folder, "list.txt"), "utf8").trim().split("\n").map((line) => line.split("\t")[0]).filter((path) => path.endsWith(".js"));
  return list.reduce((sum, path) => sum + readFileSync(join(folder, `${path}.br`)).length, 0);
}

await begin();
const daemon = await new Daemon({ disks: DISKS }).start();
try {
  await fill(daemon);
  await daemon.addUser("ada");
  const paint = await paints(daemon);
  const rows = await pages(daemon);
  const live = await watched(daemon);
  const first = live.heaps[0].reduce((a, b) => a + b);
  const last = live.heaps.at(-1).reduce((a, b) => a + b);
  console.log(`Of ${DATASETS} datasets, ${DATASETS * ROUNDS} snapshots, ${VOLUMES} volumes, ${DISKS} disks:\n`);
  console.log("| page | first time | again |\n|---|---|---|");
  for (const [name, once, again] of rows) console.log(`| ${name} | ${Math.round(once)} ms | ${Math.round(again)} ms |`);
  console.log("\n| what | measured | budget |\n|---|---|---|");
  console.log(`| first paint, nothing kept | ${Math.round(paint.cold)} ms | 1 s |`);
  console.log(`| first paint of the dashboard, files kept | ${Math.round(paint.warm)} ms | 1 s |`);
  console.log(`| script of the first route, compressed | ${kB(paint.script)} | 300 kB |`);
  console.log(`| script of all routes, compressed | ${kB(sizes())} | |`);
  console.log(`| two tabs' memory, after a minute and ${MINUTES} later | ${MB(first)}, ${MB(last)} | flat |`);
  console.log(`| the daemon's processor for each tab; without any | ${(live.each * 100).toFixed(2)} %; ${(live.alone * 100).toFixed(2)} % | 1 % |`);
} finally {
  await end();
  await daemon.end();
}
