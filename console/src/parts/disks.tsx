/** Disks as rows, and layouts of them as cards: where a pool is made, and where it gets more. */
import { Name, State } from "./ui";
import type { Column } from "./grid";
import type { Disk, Layout } from "./layouts";
import { plainly, size, span, t, tn } from "../words";

function usedBy(used: Disk["used"]): string | undefined {
  if (!used) return undefined;
  if (typeof used === "string") return used === "swap" ? t("swap") : t("read-only");
  if ("pool" in used) return t("pool {name}", { name: plainly(used.pool.name) });
  if ("mounted" in used) return t("mounted at {at}", { at: plainly(used.mounted.at) });
  if ("held" in used) return t("part of {by}", { by: plainly(used.held.by) });
  return tn(used.partitions.count, "{count} partition", "{count} partitions");
}

const kindOf = (kind: Disk["kind"]) => (kind === "rotating" ? t("Rotating") : kind === "solid-state" ? t("Solid state") : t("File"));

export const diskColumns = (): Column<Disk>[] => [
  { id: "name", name: t("Disk"), width: "minmax(130px, 1fr)", show: (one) => <span className="mono"><Name>{one.name}</Name></span> },
  { id: "size", name: t("Size"), width: "105px", isNumber: true, show: (one) => size(one.size), order: (a, b) => a.size - b.size },
  { id: "kind", name: t("Kind"), width: "110px", show: ({ kind }) => kindOf(kind) },
  { id: "model", name: t("Model and serial"), width: "minmax(150px, 1.5fr)", show: (one) => <Name>{[one.model, one.serial].filter(Boolean).join(" ") || "–"}</Name> },
  { id: "used", name: t("Use"), width: "minmax(130px, 1fr)", show: ({ used }) => <State tone={used ? "idle" : "good"}>{usedBy(used) ?? t("free")}</State> },
];

const times = (count: number) => t("{count}×", { count });

export function LayoutCard({ layout, isBest }: { layout: Layout; isBest: boolean }) {
  return (
    <>
      <strong>{layout.name}{isBest ? ` · ${t("suggested")}` : ""}</strong>
      <span className="small muted">{layout.about}</span>
      <dl>
        <dt>{t("Capacity")}</dt><dd>{size(layout.capacity)}</dd>
        <dt>{t("Survives")}</dt><dd>{layout.survives}</dd>
        <dt>{t("Reads at random")}</dt><dd>{times(layout.reads)}</dd>
        <dt>{t("Writes in a row")}</dt><dd>{times(layout.writes)}</dd>
        <dt>{t("Rebuild, about")}</dt><dd>{layout.rebuild > 0 ? span(layout.rebuild) : "–"}</dd>
      </dl>
    </>
  );
}
