/** What became of the files of a file system between two snapshots, or since one. */
import { useState } from "react";
import { useRead } from "../api/queries";
import { type Schemas } from "../api/client";
import { Button, Loaded, Name, Search } from "../parts/ui";
import { Grid, type Column } from "../parts/grid";
import { shown } from "../files/names";
import { exactTime, plainly, t } from "../words";

type Entry = Schemas["DiffEntry"];

function changeOf({ change, links }: Entry): string {
  switch (change) {
    case "+": return t("made");
    case "-": return t("removed");
    case "R": return t("renamed");
    default: return links !== 0 ? t("changed, with other names") : t("changed");
  }
}

const NODES: Record<string, () => string> = { F: () => t("File"), "/": () => t("Directory"), "@": () => t("Link"), "|": () => t("Pipe"), "=": () => t("Socket") };

export function Compare({ from, to, close }: { from: string; to: string; close: () => void }) {
  const [search, setSearch] = useState("");
  const found = useRead("/v1/datasets/{name}/diff", { path: { name: from }, query: { to } as never }, { staleTime: 0 });
  const columns: Column<Entry>[] = [
    { id: "change", name: t("Was"), width: "120px", show: changeOf },
    { id: "node", name: t("Kind"), width: "100px", show: ({ node }) => NODES[node]?.() ?? t("Device") },
    { id: "path", name: t("Path"), width: "minmax(240px, 3fr)", show: (one) => <span title={shown(one.path)}><Name>{shown(one.path)}</Name>{one.to ? <> → <Name>{shown(one.to)}</Name></> : null}</span> },
    { id: "when", name: t("Last change"), width: "190px", show: ({ ctime_secs }) => exactTime(ctime_secs) },
  ];
  const wanted = search.trim().toLowerCase();
  return (
    <>
      <p className="muted">{to.includes("@") ? t("From {from} to {to}.", { from: plainly(from), to: plainly(to) }) : t("From {from} until now.", { from: plainly(from) })}</p>
      <Search label={t("Search changes")} value={search} onChange={setSearch} />
      <Loaded of={found}>
        {({ value }) => (
          <Grid label={t("Changes")} rows={wanted ? value.filter(({ path, to: other }) => `${shown(path)} ${shown(other ?? "")}`.toLowerCase().includes(wanted)) : value} columns={columns}
            keyOf={(one) => `${one.change} ${one.path}`} least={640} empty={<p>{wanted ? t("No path has this in it.") : t("Nothing has changed.")}</p>} />
        )}
      </Loaded>
      <div className="row end"><Button onPress={close}>{t("Close")}</Button></div>
    </>
  );
}
