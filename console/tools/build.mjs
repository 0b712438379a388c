// Builds the console into target/console: files with a hash in their names, each compressed beside it, the licences of
// all packages that are in them, and list.txt for crates/console/build.rs.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";
import * as esbuild from "esbuild";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const target = resolve(root, "../target/console");
/** Files are built beside it, and take its place when all are there. */
const place = `${target}.new`;
/** Bytes of compressed script that the first page may take. */
const FIRST_ROUTE = 300_000;

const options = {
  absWorkingDir: root,
  entryPoints: { console: "src/main.tsx", style: "src/style.css" },
  outdir: target,
  bundle: true,
  splitting: true,
  format: "esm",
  target: ["es2022"],
  jsx: "automatic",
  minify: true,
  legalComments: "none",
  metafile: true,
  write: false,
  define: { "process.env.NODE_ENV": '"production"' },
  entryNames: "assets/[name]-[hash]",
  chunkNames: "assets/part-[hash]",
  assetNames: "assets/[name]-[hash]",
  loader: { ".svg": "dataurl" },
  // Texts of react-aria in other languages than the catalogue's are left out.
  plugins: [{
    name: "english",
    setup(build) {
      build.onLoad({ filter: /[/\\]intl[/\\].*[a-z]{2}-[A-Z]{2}\.(m?js|json)$/ }, ({ path }) =>
        path.includes("en-US") ? undefined : { contents: "export default {}", loader: "js" });
    },
  }],
};

const types = { js: "text/javascript; charset=utf-8", css: "text/css; charset=utf-8", html: "text/html; charset=utf-8",
  txt: "text/plain; charset=utf-8", svg: "image/svg+xml" };

/** The package folder that a file of node_modules belongs to. */
function packageOf(input) {
  const parts = input.split("/");
  const at = parts.lastIndexOf("node_modules");
  if (at < 0) return undefined;
  return parts.slice(0, at + (parts[at + 1].startsWith("@") ? 3 : 2)).join("/");
}

/** Names, versions and licence texts of the packages that are in the output. */
function licences(metafile) {
  const used = new Set();
  for (const output of Object.values(metafile.outputs)) {
    for (const [input, { bytesInOutput }] of Object.entries(output.inputs)) {
      const found = packageOf(input);
      if (found && bytesInOutput > 0) used.add(found);
    }
  }
  const texts = [...used].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
    const file = ["LICENSE", "LICENSE.md", "LICENSE.txt", "license", "LICENCE"].map((one) => join(root, folder, one)).find(existsSync);
    if (!file && !license) throw new Error(`${name} has no licence`);
    return `${name} ${version} (${license})\n\n${file ? readFileSync(file, "utf8").trim() : `Licence: ${license}`}\n`;
  });
  return `The console contains these packages.\n\n${texts.join(`\n${"-".repeat(80)}\n\n`)}`;
}

const compressed = (bytes) => brotliCompressSync(bytes, {
  params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
});

/** Scripts that a page loads before it is drawn: an entry and what it imports at once. */
function atOnce(metafile, entry, found = new Set()) {
  if (found.has(entry)) return found;
  found.add(entry);
  for (const { path, kind, external } of metafile.outputs[entry].imports) {
    if (kind === "import-statement" && !external) atOnce(metafile, path, found);
  }
  return found;
}

const { outputFiles, metafile } = await esbuild.build(options);
rmSync(place, { recursive: true, force: true });
mkdirSync(join(place, "assets"), { recursive: true });
const list = [];
const sizes = new Map();
function put(path, bytes, lasts) {
  const small = compressed(bytes);
  sizes.set(path, small.length);
  writeFileSync(join(place, path), bytes);
  writeFileSync(join(place, `${path}.br`), small);
  const hash = createHash("sha256").update(bytes).digest("hex").slice(0, 32);
  list.push([path, types[path.split(".").pop()], lasts ? "lasting" : "fresh", hash].join("\t"));
}
const names = outputFiles.map((file) => file.path.slice(target.length + 1));
outputFiles.forEach((file, at) => put(names[at], Buffer.from(file.contents), true));
const texts = Buffer.from(licences(metafile));
const licencesPath = "assets/licences.txt";
put(licencesPath, texts, false);
const entry = (start, end) => names.find((name) => name.startsWith(`assets/${start}-`) && name.endsWith(end));
const page = readFileSync(join(root, "src/index.html"), "utf8")
  .replaceAll("CONSOLE.js", entry("console", ".js")).replaceAll("STYLE.css", entry("style", ".css"));
put("index.html", Buffer.from(page), false);
writeFileSync(join(place, "list.txt"), `${list.sort().join("\n")}\n`);

const outputOf = (name) => Object.keys(metafile.outputs).find((path) => path.endsWith(name));
const first = [...atOnce(metafile, outputOf(entry("console", ".js")))];
const total = first.reduce((sum, path) => sum + sizes.get(path.slice(path.indexOf("assets/"))), 0);
console.log(`console: ${names.length} files; the first route takes ${Math.round(total / 1000)} kB of compressed script`);
if (total > FIRST_ROUTE) throw new Error(`the first route takes ${total} bytes, more than ${FIRST_ROUTE}`);
rmSync(target, { recursive: true, force: true });
renameSync(place, target);
if (process.env.SIZES) {
  for (const [path, size] of [...sizes].sort((a, b) => b[1] - a[1])) console.log(String(size).padStart(8), path);
}
