// What pages reckon by themselves, without a browser: amounts and services as they are typed, views of volumes, forecasts.
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

/** A module of the sources, as the console has it. */
async function load(path) {
  const { outputFiles } = await esbuild.build({ absWorkingDir: root, entryPoints: [`src/${path}`], bundle: true, format: "esm", platform: "node", jsx: "automatic", write: false, logLevel: "silent" });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}

test("an amount that is read and not touched is what it was", async () => {
  const { secondsOf, lasting, sized, windowOf, hoursOf } = await load("parts/amounts.ts");
  const { bytesOf } = await load("words.ts");
  for (const seconds of [1, 59, 60, 90, 3600, 86_400, 604_800, 2_592_000, 31_536_000, 31_536_001]) assert.equal(secondsOf(lasting(seconds)), seconds);
  for (const bytes of [1, 1023, 1024, 65_536, 1 << 30, 3 * 2 ** 40, 2 ** 50 + 1]) assert.equal(bytesOf(sized(bytes)), bytes);
  assert.deepEqual([secondsOf("30d"), secondsOf("1.5h"), secondsOf("0"), secondsOf("-1"), secondsOf("d")], [2_592_000, undefined, undefined, undefined, undefined]);
  assert.deepEqual(windowOf("22:00-06:00"), { from: 1320, until: 360 });
  assert.equal(hoursOf(windowOf("08:05-18:00")), "08:05-18:00");
  for (const none of ["22:00", "24:00-06:00", "a-b", "1:00-2:00-3:00", "1:60-2:00"]) assert.equal(windowOf(none), undefined, none);
});

const target = { dataset: "tank/a", recursive: true, exclude: ["tank/a/b"], guid: "12345678901234567890" };
const daily = { when: { every: "day", hour: 1, minute: 5 }, zone: "Europe/Berlin" };
const SPECS = [
  {
    kind: "auto-snap", targets: [target, { ...target, dataset: "tank/c", recursive: false, exclude: [], guid: null }], budget: { snapshots: 77, space: { of: "bytes", bytes: 3 * 2 ** 30 } }, skip_unchanged: true,
    naming: { style: "template", template: "x-%Y" }, stale_after: 7200, lock: 604_800,
    levels: [
      { name: "often", schedule: { when: { every: "minute", step: 15, offset: 5 }, zone: null }, keep: { count: 16, age: null, at_least: 1 } },
      { name: "cron", schedule: { when: { every: "cron", pattern: "0 1 * * 1-5" }, zone: "UTC" }, keep: { count: null, age: 90 * 86_400, at_least: 0 } },
      { name: "year", schedule: { when: { every: "year", month: 2, day: 28, hour: 0, minute: 0 }, zone: null }, keep: { count: 3, age: null, at_least: 0 } },
    ],
  },
  { kind: "auto-scrub", pools: ["tank"], schedule: { when: { every: "week", weekday: "friday", hour: 23, minute: 0 }, zone: null }, window: { from: 1320, until: 360 } },
  { kind: "auto-trim", pools: [], schedule: { when: { every: "month", day: 31, hour: 3, minute: 30 }, zone: null }, window: null },
  { kind: "script", program: "/bin/x", arguments: [" two words ", "", "--a=b"], schedule: { when: { every: "hour", step: 6, minute: 7 }, zone: null }, limits: { seconds: 90, memory: 1 << 28, output: 65_536, processes: 3 } },
  {
    kind: "auto-sync", source: target, origin: { kind: "ssh", host: "nas", host_key: "known", port: 2222, user: "backup" }, target: { kind: "pool", dataset: "backup/a" }, schedule: { when: { every: "second", step: 5 }, zone: null },
    keep: { count: 24, age: 2_592_000 }, absence: { seconds: null, bytes: 5 << 20 }, lag: 3600, limits: [{ bytes: 50 << 20, window: null }, { bytes: 5 << 20, window: { from: 480, until: 1080 } }], stuck_after: 600,
  },
  { kind: "auto-sync", source: target, origin: { kind: "here" }, target: { kind: "peer", peer: "south", dataset: "dozer/a" }, schedule: daily, keep: { count: 2, age: null }, absence: { seconds: 2_592_000, bytes: null }, lag: null, limits: [], stuck_after: 601 },
  { kind: "auto-sync", source: target, origin: { kind: "peer", peer: "far" }, target: { kind: "pool", dataset: "backup/a" }, schedule: daily, keep: { count: 2, age: null }, absence: { seconds: 2_592_000, bytes: null }, lag: null, limits: [], stuck_after: 600 },
  { kind: "auto-sync", source: target, origin: { kind: "here" }, target: { kind: "ssh", dataset: "dozer/a", host: "nas", host_key: "accept-new", port: null, user: null }, schedule: daily, keep: { count: 2, age: null }, absence: { seconds: 2_592_000, bytes: null }, lag: null, limits: [], stuck_after: 600 },
  {
    kind: "auto-tier", source: { ...target, recursive: false, exclude: [] }, folder: "projects", target: { kind: "ssh", host: "nas", path: "/old", port: 22, user: null }, action: { kind: "move", keep: 86_400 }, schedule: daily,
    choose: { include: ["*.mov", "a b"], exclude: ["/tmp"], older_than: 31_536_000, newer_than: null, min_size: 1 << 20, max_size: null, max_depth: 3 }, rate: 1 << 20, plain: true, stuck_after: 30,
  },
  { kind: "auto-tier", source: { ...target, recursive: false, exclude: [] }, folder: "", target: { kind: "dataset", dataset: "cold/a" }, action: { kind: "copy" }, schedule: daily, choose: { include: [], exclude: [], older_than: null, newer_than: null, min_size: null, max_size: null, max_depth: null }, rate: null, plain: false, stuck_after: 600 },
];

test("a service that is opened and not touched is sent as it was", async () => {
  const { draftOf, specOf } = await load("services/draft.ts");
  for (const spec of SPECS) assert.deepEqual(specOf(draftOf(spec)), { spec, faults: {} }, spec.kind);
});

test("what is wrong of a service is said at its field", async () => {
  const { draftOf, newDraft, specOf } = await load("services/draft.ts");
  const faults = (draft) => Object.keys(specOf(draft).faults).sort();
  assert.deepEqual(faults(newDraft()), ["target.0"]);
  const snap = draftOf(SPECS[0]);
  assert.deepEqual(faults({ ...snap, space: "120", levels: [{ ...snap.levels[0], name: "", age: "x" }], targets: [] }), ["level.0.age", "level.0.name", "targets"]);
  assert.deepEqual(faults({ ...snap, space: "much", lock: "-1" }), ["lock", "space"]);
  assert.deepEqual(faults({ ...draftOf(SPECS[4]), limits: "50M\nfast", toDataset: "", fromHost: { host: "", user: "", port: "x", isKnown: false } }), ["fromHost", "fromHost.port", "limits", "toDataset"]);
  assert.deepEqual(faults({ ...draftOf(SPECS[1]), window: "night" }), ["window"]);
});

test("a refusal of the engine leads to the field that it is about", async () => {
  const { draftOf } = await load("services/draft.ts");
  const { faultsOf } = await load("services/faults.ts");
  const refused = (service_fault) => ({ problem: { service_fault }, kind: "invalid", message: "no" });
  const draft = draftOf({ ...SPECS[0], levels: [SPECS[0].levels[0], { ...SPECS[0].levels[1], name: "often" }] });
  assert.deepEqual(faultsOf(refused({ kind: "snap", faults: [{ kind: "level-twice", level: "often" }, { kind: "percent", percent: 0 }] }), draft), { "level.1.name": "no", space: "no" });
  assert.deepEqual(faultsOf(refused({ kind: "sync", faults: [{ kind: "dataset", dataset: "backup/a" }, { kind: "user", user: "x" }] }), draftOf(SPECS[4])), { toDataset: "no", "fromHost.user": "no" });
  assert.deepEqual(faultsOf(refused({ kind: "tier", faults: [{ kind: "pattern", pattern: "/tmp" }] }), draftOf(SPECS.find(({ kind }) => kind === "auto-tier"))), { exclude: "no" });
  assert.deepEqual(faultsOf(refused(undefined), draft), {});
});

test("a view of a volume keeps secrets that nobody touched, and finds a free number", async () => {
  const { freeLun, needsSecrets, valueOfView, viewOf } = await load("volumes/view.ts");
  const secret = "target=iqn.2026-01.org.example:vms,lun=3,group=1,group=2,initiator=iqn.a:x,initiator=iqn.b:y,user=esx,secret=abcdefghijkl,mutual_user=us,mutual_secret=mnopqrstuvwx";
  const shown = viewOf(secret.replace(/secret=[a-x]+/g, "secret=********"));
  assert.ok(needsSecrets(shown));
  assert.equal(valueOfView(shown, [], secret), secret);
  assert.equal(valueOfView({ ...shown, secret: "another-secret", mutualUser: "" }, [], secret), secret.replace("secret=abcdefghijkl", "secret=another-secret").replace(/,mutual_user.*/, ""));
  assert.deepEqual([valueOfView(viewOf("on"), []), valueOfView({ ...viewOf("on"), isServed: false }, []), viewOf("-").isServed, viewOf("off").isServed], ["on", "off", false, false]);
  const others = ["target=iqn.a,lun=0", "target=iqn.a,lun=2", "target=iqn.b,lun=1", "on", "-"];
  assert.equal(freeLun(others, "iqn.a"), 1);
  assert.equal(valueOfView({ ...viewOf("on"), target: "iqn.b" }, others), "target=iqn.b,lun=0");
});

test("a forecast is that of the weekly report", async () => {
  const { daily: byDay, forecastOf } = await load("parts/forecast.ts");
  const GIB = 2 ** 30;
  const of = (count, value, allocated) => forecastOf(byDay(20_000 * 86_400, 3600, Array.from({ length: count * 24 }, (_, hour) => value(hour / 24))), 100 * GIB, allocated * GIB, 80);
  const grows = of(28, (day) => (20 + day) * GIB, 48);
  assert.deepEqual([grows.kind, Math.round((grows.by / GIB) * 100), grows.warning, grows.full], ["grows", 100, 32, 52]);
  assert.deepEqual([of(28, (day) => (20 + day) * GIB, 85).warning, of(28, (day) => (20 + 0.002 * day) * GIB, 20).full], [0, Number.POSITIVE_INFINITY]);
  assert.equal(of(28, (day) => (20 + day + (day >= 9 && day < 10 ? 40 : 0)) * GIB, 48).kind, "grows");
  assert.deepEqual(of(3, (day) => day * GIB, 3), { kind: "too-little", days: 3 });
  assert.deepEqual(of(28, (day) => (day >= 1 && day < 27 ? null : day * GIB), 28), { kind: "too-little", days: 2 });
  assert.equal(of(28, (day) => (20 + 5 * Math.sin(day * 1.3)) * GIB, 20).kind, "unclear");
  assert.equal(of(28, () => 20 * GIB, 20).kind, "still");
  assert.equal(of(28, (day) => (60 - day) * GIB, 32).kind, "shrinks");
});

test("snapshots of one dataset go in one list, every one of them once", async () => {
  const { listsOf } = await load("snapshots/destroy.tsx");
  assert.deepEqual(listsOf(["a@1", "b@1", "a@2"]), ["a@1,2", "b@1"]);
  const many = Array.from({ length: 5000 }, (_, at) => `tank/data@auto-hourly-${at}`);
  const lists = listsOf(many);
  assert.ok(lists.every((list) => list.length < 3100), "a list is longer than an address may be");
  assert.deepEqual(lists.flatMap((list) => list.split("@")[1].split(",").map((name) => `tank/data@${name}`)).sort(), many.toSorted());
});

test("every snapshot is in a bar of the time line", async () => {
  const { stretches } = await load("parts/timeline.tsx");
  const times = Array.from({ length: 100_000 }, (_, at) => 1_700_000_000 + at * 37);
  assert.equal(stretches(times).reduce((sum, { count }) => sum + count, 0), times.length);
  assert.deepEqual(stretches([100, 119]).filter(({ count }) => count > 0).map(({ from }) => Math.round(from)), [100, 119]);
  assert.deepEqual(stretches([5, 5, 5]).reduce((sum, { count }) => sum + count, 0), 3);
});

test("what a peer pulls from here goes from here to it, and what it sends the other way", async () => {
  const { ownRelations, toldBy } = await load("replication/relations.ts");
  const replicas = [{ dataset: "tank/a", target: "dozer/a", snapshot: "s", current: 90 }];
  const told = (pulls) => toldBy("far", [{ service: "s", pulls, state: "online", cause: { kind: "created" }, next: null, allowed: null, at: 100, replicas }]);
  const ends = ([{ from, to, behind }]) => [from.id, to.id, behind];
  assert.deepEqual(ends(told(true)), ["pool tank", "peer far", 10]);
  assert.deepEqual(ends(told(false)), ["peer far", "pool dozer", 10]);
  const own = SPECS.find(({ origin }) => origin?.kind === "peer");
  assert.deepEqual(ends(ownRelations([{ id: "s", spec: own, state: "online", sync: { replicas, sending: null } }], 100)), ["peer far", "pool backup", 10]);
});

test("arrows of the map have places of their own, and end at their boxes", async () => {
  const { arranged } = await load("replication/map.tsx");
  const place = (kind, name) => ({ id: `${kind} ${name}`, kind, name });
  const relation = (id, from, to) => ({ id, from, to });
  const relations = [
    relation("1", place("pool", "tank"), place("pool", "backup")), relation("2", place("pool", "tank"), place("peer", "south")), relation("3", place("pool", "tank"), place("host", "nas")),
    relation("4", place("peer", "north"), place("pool", "backup")), relation("5", place("pool", "backup"), place("peer", "south")), relation("6", place("peer", "south"), place("pool", "tank")),
  ];
  const { boxes, arrows } = arranged(relations);
  assert.equal(boxes.length, 6, "who sends here and is sent to is there twice");
  const begins = arrows.map(({ from }) => `${from.x} ${from.y}`);
  assert.equal(new Set(begins).size, arrows.length);
  const labels = arrows.map(({ from }) => from).sort((a, b) => a.x - b.x || a.y - b.y);
  for (let at = 1; at < labels.length; at += 1) assert.ok(labels[at].x !== labels[at - 1].x || labels[at].y - labels[at - 1].y >= 40, "two labels lie over each other");
  for (const { to } of arrows) assert.ok(boxes.some((one) => (to.x === one.x || to.x === one.x + 150) && to.y > one.top && to.y < one.top + one.height));
});

test("names of files are text where their bytes are, and nothing is lost of those that are none", async () => {
  const { escaped, textOf, shown, modeOf, parted, below } = await load("files/names.ts");
  for (const text of ["plan", "a b", "\\0040", "ü\u202e", "a\nb", "<b>", "\u{1f600}"]) assert.equal(textOf(escaped(text)), text);
  assert.equal(escaped("a b\\"), "a\\0040b\\0134");
  assert.equal(textOf("\\0377x"), undefined);
  assert.equal(shown("\\0377x"), "\\0377x");
  assert.equal(shown("a\\0342\\0200\\0256b"), "a⟨U+202E⟩b");
  assert.deepEqual([modeOf(0o4751), modeOf(0o640), modeOf(0o1777)], ["rwsr-x--x", "rw-r-----", "rwxrwxrwt"]);
  assert.deepEqual(parted(below("/a/b", "c")), ["/a/b", "c"]);
  assert.deepEqual(parted("/c"), ["", "c"]);
});

test("snapshots in a row that have the same file are one version, the newest first", async () => {
  const { versionsOf, isNow } = await load("files/versions.ts");
  const node = (object, changed) => ({ object, generation: 1, changed, changed_nanos: 0 });
  const of = (snapshot, file, differs) => ({ snapshot: `t@${snapshot}`, taken: 1, file, differs });
  const found = versionsOf([of("a", null, true), of("b", node(1, 5), true), of("c", node(1, 5), false), of("d", node(1, 6), true), of("e", null, true), of("f", node(1, 6), true)]);
  assert.deepEqual(found.map(({ oldest, newest, count }) => [oldest, newest, count]), [["t@f", "t@f", 1], ["t@d", "t@d", 1], ["t@b", "t@c", 2]]);
  assert.ok(isNow(found[0].file, node(1, 6)) && !isNow(found[2].file, node(1, 6)) && !isNow(found[0].file, null));
});

test("a curve has its sizes at equal distances, and times are read as people write them", async () => {
  const { line } = await load("advisor/curve.tsx");
  const { nanosOf } = await load("advisor/findings.tsx");
  const points = line([{ bytes: 1, hit_percent: 0 }, { bytes: 2, hit_percent: 50 }, { bytes: 4, hit_percent: 100 }], 100, 10);
  assert.deepEqual(points, [[0, 10], [50, 5], [100, 0]]);
  assert.deepEqual(line([]), []);
  assert.deepEqual(["20us", "1.5ms", "7ns", "2 s", "fast", "0us", "-1ms"].map(nanosOf), [20_000, 1_500_000, 7, 2_000_000_000, undefined, undefined, undefined]);
});

test("what drill-downs found: lines, middles, tables and filters", async () => {
  const { linesOf, valueOf } = await load("analytics/lines.tsx");
  const { bounds, classAt, classOf, countsOf, narrow, pictured, rowsOf: heatOf } = await load("analytics/heat.tsx");
  const { csv, nextOf, typed, short } = await load("analytics/request.ts");
  const sum = (operations, bytes = 0, time = 0) => ({ operations, bytes, time });
  const found = {
    drill_down: { by: ["client", "file"] },
    keys: [{ number: 7, values: ["=1+1", 'a"b'], sum: sum(6, 60, 600), missing: 2 }],
    others: sum(1, 5, 5), total: sum(7, 65, 605), buckets: [1000, 2000, 3000],
    rows: [
      { second: 100, seconds: 1, total: sum(4), cells: [[7, sum(3)]], latencies: [[0, 3], [2, 1]] },
      { second: 110, seconds: 60, total: sum(120, 0, 480e6), cells: [], latencies: [[1, 120]] },
    ],
  };
  assert.deepEqual(linesOf(found, "operations", 95, 200), [
    [95, 99, 100, 101, 109, 110, 170, 199], [0, 0, 3, 0, 0, 0, 0, 0], [0, 0, 1, 0, 0, 2, 0, 0],
  ]);
  assert.deepEqual([valueOf("latency", sum(120, 0, 480e6), 60), valueOf("latency", sum(0), 1)], [4, null]);
  const sums = countsOf(heatOf(found, "latency").rows, 0, 105);
  assert.deepEqual([[...sums], classAt(sums, 0.5), classAt(sums, 0.99), classAt(new Map(), 0.5)], [[[0, 3], [2, 1]], 0, 2, undefined]);
  // Sizes and offsets are drawn from the cells of keys; what is of none of them is said to be missing.
  const keyed = (by, begins) => ({ drill_down: { by }, keys: begins.map((begin, key) => ({ number: key, begins: [null, begin].slice(2 - by.length) })),
    rows: [{ second: 100, seconds: 1, total: sum(10), cells: [[0, sum(2)], [1, sum(3)], [2, sum(4)]], latencies: [] }] });
  const heat = (of, by, begins) => { const { rows, missing } = heatOf(keyed(by, begins), of); return [rows[0].cells, missing.get(rows[0])]; };
  assert.deepEqual(heat("size", ["size"], [0, 4096, 8192]), [[[0, 2], [13, 3], [14, 4]], 1]);
  assert.deepEqual(heat("offset", ["client", "offset"], [32 << 20, 32 << 20, null]), [[[2, 5]], 5]);
  assert.deepEqual([0, 1, 4096].map((begin) => bounds("size", classOf("size", begin))), [[0, 1], [1, 2], [4096, 8192]]);
  assert.deepEqual([narrow({ min_bytes: 5000, client: "a" }, "size", 4096, 8192), narrow({}, "latency", 1500, 3000), narrow({ offset_to: 20 << 20 }, "offset", 16 << 20, 32 << 20)],
    [{ client: "a", min_bytes: 5000, max_bytes: 8191 }, { slower_us: 1, faster_us: 2 }, { offset_from: 16 << 20, offset_to: 20 << 20 }]);
  assert.deepEqual([["size", "client"], ["client", "size"], ["offset"], []].map(pictured), ["latency", "size", "offset", "latency"]);
  const lines = csv(found).split("\n");
  assert.deepEqual(lines.slice(0, 3), ["client,file,operations,bytes,nanoseconds,missing", '"=1+1","a""b",6,60,600,2', "(other),,1,5,5,0"]);
  const { rowsOf } = await load("analytics/hierarchy.ts");
  const { withValue } = await load("analytics/worksheets.tsx");
  const watched = { by: ["client", "operation"], alert: { values: ["a", ""] } };
  assert.deepEqual([withValue(watched, 1, "READ"), withValue(watched, 0, ""), withValue({ by: ["client"], alert: {} }, 0, "b")], [["a", "READ"], null, ["b"]]);
  const tree = { ...found, datasets: [
    { name: "tank/a", sum: sum(10), missing: 0, keys: [7], others: sum(4), filter: { dataset: "tank/a" } },
    { name: "tank/b", sum: sum(2), missing: 1, keys: [], others: sum(2) },
  ] };
  const shown = (rows) => rows.map(({ level, name, sum: { operations } }) => [level, name, operations]);
  assert.deepEqual(shown(rowsOf(tree, false, new Set())), [[0, '=1+1  a"b', 6]]);
  const rows = rowsOf(tree, true, new Set());
  assert.deepEqual(shown(rows), [[0, "tank/a", 10], [1, '=1+1  a"b', 6], [1, "(other files)", 4], [0, "tank/b", 2], [1, "(other files)", 2]]);
  assert.deepEqual(shown(rowsOf(tree, true, new Set([rows[0].id]))), [[0, "tank/a", 10], [0, "tank/b", 2], [1, "(other files)", 2]]);
  const fields = { protocol: "", client: " 192.0.2.1 ", dataset: "", file: "", operation: "", device: "", slower: "1.5" };
  assert.deepEqual([typed(fields), typed({ ...fields, client: "", device: " tank:sda", slower: "x" })], [{ client: "192.0.2.1", slower_us: 1500 }, { device: "tank:sda" }]);
  // From a slow write to its volume, to what served it, to the device.
  const path = [[{}, []], [{ operation: "write" }, ["latency"]], [{ dataset: "tank/v" }, ["file"]], [{ dataset: "tank/v", served: "log" }, ["served"]], [{ client: "192.0.2.1", file: "/a" }, ["file"]]];
  assert.deepEqual(path.map(([filter, by]) => nextOf(filter, by)), ["client", "file", "served", "device", "served"]);
  assert.deepEqual([999, 1500, 12_345_678, 2e9].map(short), ["999 ns", "1.50 µs", "12.3 ms", "2.00 s"]);
});
