/** Rows of what a drill-down has found: keys, or files below their datasets, whose sums are exact. */
import { t } from "../words";
import type { Dimension, Filter, Found } from "./request";

type Sum = Found["total"];

export interface Row {
  id: string;
  level: number;
  name: string;
  sum: Sum;
  missing: number;
  /** What takes it alone, and what it was told apart by. */
  filter?: Filter | null | undefined;
  by: Dimension[];
}

/** Of `closed` datasets no files are shown. */
export function rowsOf(found: Found, isTree: boolean, closed: ReadonlySet<string>): Row[] {
  const { by } = found.drill_down;
  const key = (level: number) => ({ number, values, sum, missing, filter }: Found["keys"][number]): Row =>
    ({ id: String(number), level, name: values.join("  "), sum, missing, filter, by });
  if (!isTree) return found.keys.map(key(0));
  const known = new Map(found.keys.map((one) => [one.number, one]));
  return (found.datasets ?? []).flatMap(({ name, sum, missing, filter, keys, others }, at) => {
    const id = `dataset ${name} ${at}`;
    const files = keys.flatMap((number) => known.get(number) ?? []).map(key(1));
    const rest: Row = { id: `${id} others`, level: 1, name: t("(other files)"), sum: others, missing: 0, by };
    const whole: Row = { id, level: 0, name, sum, missing, filter, by: ["dataset"] };
    return closed.has(id) ? [whole] : [whole, ...files, ...(others.operations > 0 ? [rest] : [])];
  });
}
