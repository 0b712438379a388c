/** What compression saves, and what deduplication would. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { get } from "../api/client";
import { useRead } from "../api/queries";
import { Button, Empty, Failure, Loaded, Name } from "../parts/ui";
import { Grid, type Column } from "../parts/grid";
import { valueOf, type Dataset } from "../pages/datasets";
import { number, size, t } from "../words";

const bytes = (info: Dataset, name: string) => Number(valueOf(info, name)) || 0;
/** So many datasets at the top of a pool are shown. */
const MOST = 200;

export function Compression({ pool }: { pool: string }) {
  const read = useRead("/v1/datasets", { query: { roots: pool, depth: 1, props: "compression,compressratio,used,logicalused", limit: MOST } as never });
  const saved = (one: Dataset) => Math.max(0, bytes(one, "logicalused") - bytes(one, "used"));
  const columns: Column<Dataset>[] = [
    { id: "name", name: t("Dataset, with all below it"), width: "minmax(200px, 2fr)", show: ({ name }) => <Name>{name}</Name> },
    { id: "by", name: t("Compression"), width: "120px", show: (one) => valueOf(one, "compression") },
    { id: "ratio", name: t("Ratio"), width: "90px", isNumber: true, show: (one) => `${valueOf(one, "compressratio")}×`, order: (a, b) => Number(valueOf(a, "compressratio")) - Number(valueOf(b, "compressratio")) },
    { id: "logical", name: t("Without it"), width: "120px", isNumber: true, show: (one) => size(bytes(one, "logicalused")) },
    { id: "used", name: t("Used"), width: "110px", isNumber: true, show: (one) => size(bytes(one, "used")) },
    { id: "saved", name: t("Saved"), width: "110px", isNumber: true, show: (one) => size(saved(one)), order: (a, b) => saved(a) - saved(b) },
  ];
  return (
    <section className="card stack" aria-labelledby="compression">
      <h2 id="compression">{t("Compression")}</h2>
      <Loaded of={read}>
        {({ value }) => <Grid label={t("Compression")} rows={value} columns={columns} keyOf={({ name }) => name} least={760} empty={<p>{t("There is no dataset.")}</p>} />}
      </Loaded>
    </section>
  );
}

export function Deduplication({ pool }: { pool: string }) {
  const [isAsked, ask] = useState(false);
  const found = useQuery({
    queryKey: ["dedup-estimate", pool], enabled: isAsked, staleTime: Number.POSITIVE_INFINITY, refetchOnWindowFocus: false, retry: false,
    queryFn: async ({ signal }) => (await get("/v1/pools/{name}/dedup-estimate", { path: { name: pool }, query: { dataset: "" } as never, signal })).value,
  });
  const estimate = found.data;
  const most = Math.max(1, ...(estimate?.buckets.map(({ ref_dsize: all }) => all) ?? []));
  return (
    <section className="card stack" aria-labelledby="deduplication">
      <h2 id="deduplication">{t("Deduplication")}</h2>
      {!estimate && (
        <div className="row">
          <Button onPress={() => ask(true)} isDisabled={found.isFetching}>{t("Estimate")}</Button>
          <span className="muted small" role="status">{found.isFetching ? t("All metadata of the pool are being read…") : t("It reads all metadata of the pool, which may take minutes.")}</span>
        </div>
      )}
      <Failure error={found.error} />
      {estimate && (
        <>
          <p>{estimate.verdict}</p>
          <p className="muted small">{t("{saved} would be saved; a table of {entries} entries would take {table} of {cache} of memory.", { saved: size(estimate.saved), entries: number(estimate.entries), table: size(estimate.table), cache: size(estimate.cache) })}{estimate.sampled > 1 ? ` ${t("One block in {count} was looked at.", { count: number(estimate.sampled) })}` : ""}</p>
          {estimate.buckets.length === 0 ? <Empty>{t("Nothing that is stored can be compared.")}</Empty> : (
            <div className="scroll-x">
              <table className="plain">
                <thead><tr><th scope="col" className="number">{t("References of a block")}</th><th scope="col" className="number">{t("Blocks")}</th><th scope="col" className="number">{t("On disk once")}</th><th scope="col" className="number">{t("As it is")}</th><th scope="col">{t("Share")}</th></tr></thead>
                <tbody>
                  {estimate.buckets.map((one) => (
                    <tr key={one.references}>
                      <td className="number">{one.references > 1 ? t("{from} to {to}", { from: number(one.references), to: number(2 * one.references - 1) }) : "1"}</td>
                      <td className="number">{number(one.blocks)}</td>
                      <td className="number">{size(one.dsize)}</td>
                      <td className="number">{size(one.ref_dsize)}</td>
                      <td><div className="meter" aria-hidden="true"><div className="track"><div className="fill" style={{ width: `${(100 * one.ref_dsize) / most}%` }} /></div></div></td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )}
        </>
      )}
    </section>
  );
}
