// The catalogue of English strings: words.json has each text that the console shows, for translators. `--check` says
// whether it is up to date, and whether a page has text that is in no catalogue.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..");
const place = join(root, "words.json");
const texts = new Set();
const faults = [];
/** Attributes that are read out or shown. */
const SHOWN = new Set(["aria-label", "title", "placeholder", "label", "description", "alt", "heading"]);
const letters = /\p{L}{2}/u;

for (const entry of readdirSync(join(root, "src"), { recursive: true })) {
  if (!/\.tsx?$/.test(entry) || entry.endsWith(".d.ts")) continue;
  const path = join(root, "src", entry);
  const source = ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest, true);
  const fault = (node, what) => {
    const { line } = source.getLineAndCharacterOfPosition(node.getStart());
    faults.push(`${relative(root, path)}:${line + 1}: ${what}`);
  };
  const visit = (node) => {
    if (ts.isCallExpression(node) && ts.isIdentifier(node.expression)) {
      const count = { t: 1, tn: 2 }[node.expression.text] ?? 0;
      const strings = node.arguments.slice(count - 1 === 1 ? 1 : 0, count === 2 ? 3 : count);
      if (count > 0 && !path.endsWith("words.ts")) {
        for (const string of strings) {
          if (ts.isStringLiteralLike(string)) texts.add(string.text);
          else fault(node, "the text of t() has to stand there");
        }
      }
    }
    if (ts.isJsxText(node) && letters.test(node.text)) fault(node, `text outside of the catalogue: ${node.text.trim()}`);
    if (ts.isJsxAttribute(node) && SHOWN.has(node.name.getText()) && node.initializer && ts.isStringLiteral(node.initializer)) {
      fault(node, `text outside of the catalogue: ${node.initializer.text}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
}
const catalogue = `${JSON.stringify([...texts].sort(), null, 2)}\n`;
if (process.argv.includes("--check")) {
  let kept = "";
  try { kept = readFileSync(place, "utf8"); } catch { /* It is not there yet. */ }
  if (kept !== catalogue) faults.push("words.json is not up to date: npm run words");
} else {
  writeFileSync(place, catalogue);
}
faults.forEach((fault) => console.error(fault));
process.exit(faults.length ? 1 : 0);
