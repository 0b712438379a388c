/** What would make a pool faster or its data smaller, and what that is known from. */
import { useState } from "react";
import { useRead } from "../api/queries";
import { Empty, Head, Loaded, Select } from "../parts/ui";
import { Findings } from "../advisor/findings";
import { Compression, Deduplication } from "../advisor/saving";
import { plainly, t } from "../words";

export default function Advisor() {
  const pools = useRead("/v1/pools");
  const [chosen, choose] = useState("");
  return (
    <div className="page">
      <Head title={t("Advisor")} about={t("What a log device, memory, a cache device, compression and deduplication do for a pool, or would.")} />
      <Loaded of={pools}>
        {({ value }) => {
          const name = value.some((pool) => pool.name === chosen) ? chosen : value[0]?.name;
          if (!name) return <Empty>{t("There is no pool yet.")}</Empty>;
          return (
            <>
              {value.length > 1 && <Select label={t("Pool")} value={name} onChange={choose} options={value.map((pool) => ({ id: pool.name, name: plainly(pool.name) }))} />}
              <Findings key={`findings ${name}`} pool={name} />
              <Compression key={`compression ${name}`} pool={name} />
              <Deduplication key={`deduplication ${name}`} pool={name} />
            </>
          );
        }}
      </Loaded>
    </div>
  );
}
