/** What a log device, more memory or a cache device would change, as the engine says it, with what its sentences rest on. */
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { get, type Schemas } from "../api/client";
import { Button, Failure, Field } from "../parts/ui";
import { bytesOf, number, percent, t } from "../words";
import { Curve } from "./curve";

type Finding = Schemas["Finding"];
type Question = { log_latency?: number; cache_latency?: number; cache_size?: number; memory?: number };

const TIMES: Record<string, number> = { ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9 };

/** Nanoseconds of a text such as `20us` or `1.5 ms`. `undefined`: it is none. */
export function nanosOf(text: string): number | undefined {
  const found = /^\s*(\d+(?:\.\d+)?)\s*(ns|us|µs|ms|s)\s*$/.exec(text);
  const nanos = found ? Math.round(Number(found[1]) * TIMES[found[2]!]!) : 0;
  return nanos > 0 && Number.isSafeInteger(nanos) ? nanos : undefined;
}

const about = (finding: Finding) => {
  switch (finding.about) {
    case "log": return t("Log");
    case "memory": return t("Memory");
    case "cache": return t("Cache device");
    default: return finding.about;
  }
};

/** Shares of the waiting for stable storage. */
const WAITS: [string, () => string][] = [
  ["main_flush_percent", () => t("flushes of the main disks")], ["main_write_percent", () => t("writing to the main disks")], ["group_percent", () => t("transaction groups")],
];

function Waits({ figures }: { figures: Record<string, number> }) {
  const shares = WAITS.filter(([name]) => figures[name] !== undefined);
  if (shares.length === 0) return null;
  return (
    <div className="stack tight">
      {shares.map(([name, say]) => (
        <div className="meter" key={name}>
          <div className="line"><span>{say()}</span><span className="muted">{`${figures[name]!.toFixed(0)} %`}</span></div>
          <div className="track" role="meter" aria-label={say()} aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(figures[name]!)}><div className="fill" style={{ width: `${percent(figures[name]!, 100)}%` }} /></div>
        </div>
      ))}
    </div>
  );
}

function One({ finding }: { finding: Finding }) {
  const figures = Object.entries(finding.figures);
  const label = finding.about === "memory" ? t("Requests that memory would answer, by its size") : t("Requests that a cache device would answer of those that memory cannot, by its size");
  return (
    <section className="card stack" aria-label={about(finding)}>
      <h2>{about(finding)}</h2>
      <p>{finding.text}</p>
      {finding.about === "log" && <Waits figures={finding.figures} />}
      <Curve label={label} curve={finding.curve ?? []} now={finding.about === "memory" ? finding.figures["memory_bytes"] : undefined} />
      {figures.length > 0 && (
        <details>
          <summary>{t("All figures")}</summary>
          <table className="plain"><tbody>{figures.map(([name, value]) => <tr key={name}><th scope="row" className="mono small">{name}</th><td className="number mono small">{number(Math.round(value * 100) / 100)}</td></tr>)}</tbody></table>
        </details>
      )}
    </section>
  );
}

export function Findings({ pool }: { pool: string }) {
  const [log, setLog] = useState("");
  const [cache, setCache] = useState("");
  const [latency, setLatency] = useState("");
  const [memory, setMemory] = useState("");
  const [asked, ask] = useState<Question>();
  const found = useQuery({
    queryKey: ["advice", pool, asked], enabled: asked !== undefined, staleTime: Number.POSITIVE_INFINITY, refetchOnWindowFocus: false, retry: false,
    queryFn: async ({ signal }) => (await get("/v1/pools/{name}/advice", { path: { name: pool }, query: asked as never, signal })).value,
  });
  const wrongTime = (text: string) => (text.trim() && nanosOf(text) === undefined ? t("A time, as 20us or 1.5ms.") : undefined);
  const wrongSize = (text: string) => (text.trim() && bytesOf(text) === undefined ? t("A size, as 64G.") : undefined);
  const isWrong = [wrongTime(log), wrongTime(latency), wrongSize(cache), wrongSize(memory)].some(Boolean);
  const next = () => {
    const all = { log_latency: nanosOf(log), cache_latency: nanosOf(latency), cache_size: bytesOf(cache), memory: bytesOf(memory) };
    ask(Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)));
  };
  return (
    <>
      <form className="card stack" aria-label={t("Question")} onSubmit={(event) => { event.preventDefault(); if (!isWrong) next(); }}>
        <p className="muted">{t("From what the pool did since its import. Asking rehearses it on a pool in memory: that takes the processors some seconds. Fields that are empty get what is usual.")}</p>
        <div className="row base">
          <Field isNarrow label={t("A log device takes")} value={log} onChange={setLog} placeholder={t("20us")} fault={wrongTime(log)} />
          <Field isNarrow label={t("Size of a cache device")} value={cache} onChange={setCache} placeholder={t("64G")} fault={wrongSize(cache)} />
          <Field isNarrow label={t("A read from it takes")} value={latency} onChange={setLatency} placeholder={t("100us")} fault={wrongTime(latency)} />
          <Field isNarrow label={t("Memory for the cache")} value={memory} onChange={setMemory} placeholder={t("16G")} fault={wrongSize(memory)} />
          <Button type="submit" manner="first" isDisabled={isWrong || found.isFetching}>{t("Ask")}</Button>
        </div>
        <span role="status" className="muted small">{found.isFetching ? t("It is being rehearsed…") : ""}</span>
      </form>
      <Failure error={found.error} />
      {found.data?.findings.map((finding) => <One key={finding.about} finding={finding} />)}
    </>
  );
}
