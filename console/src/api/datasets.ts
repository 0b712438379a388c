/** Lists of datasets, of which the first are there at once: to read ten thousand takes the daemon seconds. */
import { useRead } from "./queries";

/** So many are shown before all are read. */
const FIRST = 200;

export function useDatasets(kinds: string, props: string) {
  const query = { kinds, props };
  const first = useRead("/v1/datasets", { query: { ...query, limit: FIRST } as never });
  const isLong = first.data?.next !== undefined;
  const rest = useRead("/v1/datasets", { query: query as never }, { enabled: isLong });
  return { datasets: rest.data || rest.error ? rest : first, isWhole: !isLong || rest.data !== undefined };
}
