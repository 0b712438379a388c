/**
 * Lists of datasets, of which the first are there at once: to read ten thousand takes the daemon seconds. Where `quick` says which
 * properties take no reading of each dataset, all are there at once with these alone, until the others have come.
 */
import { useRead } from "./queries";

/** So many are shown before all are read. */
const FIRST = 200;

export function useDatasets(kinds: string, props: string, quick?: string) {
  const query = { kinds, props };
  const first = useRead("/v1/datasets", { query: (quick ? { kinds, props: quick } : { ...query, limit: FIRST }) as never });
  const isLong = quick ? first.data !== undefined : first.data?.next !== undefined;
  const rest = useRead("/v1/datasets", { query: query as never }, { enabled: isLong });
  return { datasets: rest.data || rest.error ? rest : first, isWhole: (!isLong && !quick) || rest.data !== undefined };
}
