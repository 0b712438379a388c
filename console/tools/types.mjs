// Types of the management API, from the document that the daemon serves: npm run types -- openapi.json
// What all answers share (problems, the headers of tags and conditions) is left out: src/api/client.ts knows it once.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import openapiTS, { astToString } from "openapi-typescript";

const from = process.argv[2];
const folder = dirname(fileURLToPath(import.meta.url));
const to = process.argv[3] ?? join(folder, "../src/api/schema.d.ts");
if (!from) {
  console.error("usage: npm run types -- openapi.json [schema.d.ts]");
  process.exit(2);
}
const document = JSON.parse(readFileSync(from, "utf8"));
for (const operations of Object.values(document.paths)) {
  for (const operation of Object.values(operations)) {
    const answers = Object.entries(operation.responses).filter(([status]) => status.startsWith("2"));
    operation.responses = Object.fromEntries(answers);
    for (const answer of Object.values(operation.responses)) delete answer.headers;
    operation.parameters = operation.parameters.filter((one) => one.in !== "header");
    delete operation.description;
  }
}
delete document.components.responses;
delete document.components.securitySchemes;
// Numbers of 64 bits that are names travel as text in this program: see src/api/client.ts.
for (const schema of Object.values(document.components.schemas)) {
  for (const [name, member] of Object.entries(schema.properties ?? {})) {
    if (name === "guid" && member.type === "integer") schema.properties[name] = { type: "string" };
  }
}
const text = astToString(await openapiTS(document, { exportType: true, alphabetize: true }));
writeFileSync(to, `// Made by \`npm run types\` from /v1/openapi.json; scripts/console-test compares it.\n\n${text}`);
