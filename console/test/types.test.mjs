// The types of the API in the sources are those of the daemon that is tested.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Daemon } from "./kit.mjs";

test("src/api/schema.d.ts is what the daemon describes", async () => {
  const daemon = await new Daemon({ disks: 0 }).start();
  try {
    const [from, made] = [join(daemon.folder, "openapi.json"), join(daemon.folder, "schema.d.ts")];
    writeFileSync(from, JSON.stringify(await daemon.ask("GET", "/v1/openapi.json")));
    execFileSync("node", ["tools/types.mjs", from, made]);
    assert.ok(readFileSync(made, "utf8") === readFileSync("src/api/schema.d.ts", "utf8"), "it is old: npm run types -- openapi.json");
  } finally {
    await daemon.end();
  }
});
