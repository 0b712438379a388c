/** Requests of clients one by one, as they end, with what each waited for. */
import { useEffect, useRef, useState } from "react";
import { listen, type Schemas } from "../api/client";
import { useSession } from "../api/session";
import { useFilter } from "../analytics/filter";
import { short } from "../analytics/request";
import { Button, Failure, Head, Name, State } from "../parts/ui";
import { Grid, byNumber, type Column } from "../parts/grid";
import { number, plainly, size, t, tn } from "../words";

type Request = Schemas["TracedRequest"];
type Event = Schemas["TraceEvent"];
type Row = Request & { at: number };

/** Rows that are kept, the newest first. */
const KEPT = 2000;
const MINUTE = 60;

const STAGES = ["queue", "protocol", "engine", "disk", "log", "group", "reply"] as const;
const stageName = (stage: (typeof STAGES)[number]) => ({
  queue: t("waiting for a thread"), protocol: t("protocol"), engine: t("engine"), disk: t("disk"), log: t("log"), group: t("transaction group"), reply: t("reply"),
})[stage];

const clock = (micros: number) => `${new Date(micros / 1000).toTimeString().slice(0, 8)}.${String(Math.floor(micros % 1e6)).padStart(6, "0")}`;

function Bar({ request }: { request: Request }) {
  const parts = STAGES.filter((stage) => request.stages[stage] > 0);
  const text = parts.map((stage) => `${stageName(stage)} ${short(request.stages[stage])}`).join(", ");
  return (
    <svg className="stages" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" aria-label={text}>
      <title>{text}</title>
      {parts.map((stage, at) => {
        const before = parts.slice(0, at).reduce((sum, one) => sum + request.stages[one], 0);
        return <rect key={stage} className={stage} x={(before / request.took) * 100} width={(request.stages[stage] / request.took) * 100} y={0} height={10} />;
      })}
    </svg>
  );
}

export default function Trace() {
  const { may } = useSession();
  const [fields, filter] = useFilter();
  const [rows, setRows] = useState<Row[]>([]);
  const [lost, setLost] = useState(0);
  const [state, setState] = useState<"idle" | "begins" | "runs" | "ended">("idle");
  const [failure, setFailure] = useState<unknown>();
  const running = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const stop = () => {
    running.current?.abort();
    setState("ended");
  };
  const begin = async () => {
    running.current?.abort();
    const own = new AbortController();
    running.current = own;
    setRows([]);
    setLost(0);
    setFailure(undefined);
    setState("begins");
    let count = 0;
    const take = (events: Event[]) => {
      if (own.signal.aborted) return;
      const come: Row[] = [];
      for (const event of events) {
        if ("began" in event) setState("runs");
        if ("request" in event) come.push({ ...event.request, at: (count += 1) });
        if ("lost" in event) setLost((before) => before + event.lost.requests);
      }
      if (come.length) setRows((before) => [...come.toReversed(), ...before].slice(0, KEPT));
    };
    try {
      await listen<Event, "post", "/v1/trace">("post", "/v1/trace", { body: { filter, seconds: 5 * MINUTE }, signal: own.signal }, take);
    } catch (error) {
      if (!own.signal.aborted) setFailure(error);
    }
    if (running.current === own) setState("ended");
  };
  const what = ({ dataset, file, name, object }: Request) => `${dataset ?? "–"}${file ? `:${file}` : object ? `:<${object}>` : ""}${name ? ` "${name}"` : ""}`;
  const columns: Column<Row>[] = [
    { id: "time", name: t("Time"), width: "140px", show: ({ time }) => <span className="mono small">{clock(time)}</span>, order: byNumber(({ time }) => time) },
    { id: "client", name: t("Client"), width: "minmax(120px, 1fr)", show: ({ client }) => <span title={plainly(client)}><Name>{client}</Name></span> },
    { id: "user", name: t("User"), width: "70px", show: ({ user }) => (user ? <Name>{user}</Name> : "–") },
    { id: "operation", name: t("Operation"), width: "120px", show: ({ protocol, operation }) => <span title={protocol}>{operation}</span> },
    { id: "bytes", name: t("Bytes"), width: "85px", isNumber: true, show: ({ bytes }) => (bytes ? size(bytes) : "–"), order: byNumber(({ bytes }) => bytes) },
    { id: "took", name: t("Took"), width: "90px", isNumber: true, show: ({ took }) => short(took), order: byNumber(({ took }) => took) },
    { id: "stages", name: t("Stages"), width: "150px", show: (request) => <Bar request={request} /> },
    { id: "served", name: t("Served by"), width: "85px", show: ({ served }) => served ?? "–" },
    { id: "device", name: t("Device"), width: "minmax(90px, 1fr)", show: ({ device }) => (device ? <span title={plainly(device)}><Name>{device}</Name></span> : "–") },
    { id: "what", name: t("What"), width: "minmax(200px, 2fr)", show: (request) => <span title={plainly(what(request))}><Name>{what(request)}</Name></span> },
  ];
  const isOn = state === "begins" || state === "runs";
  if (!may("operator")) return <div className="page"><Head title={t("Trace")} /><p className="note">{t("What others ask for, and the names of their files, are for operators and administrators.")}</p></div>;
  return (
    <div className="page">
      <Head title={t("Trace")} about={t("Requests of clients as they end, and what each waited for. It ends by itself after five minutes.")}>
        {isOn ? <Button onPress={stop}>{t("Stop")}</Button> : <Button manner="first" onPress={() => void begin()}>{t("Begin trace")}</Button>}
      </Head>
      {fields}
      <Failure error={failure} />
      <div className="row">
        <State tone={isOn ? "busy" : "idle"}>{{ idle: t("It has not begun"), begins: t("It begins"), runs: t("It runs"), ended: t("It has ended") }[state]}</State>
        <span className="small muted">{tn(rows.length, "{count} request shown", "{count} requests shown")}</span>
        {lost > 0 && <span className="small fault">{t("{count} are missing: they came faster than they were taken. A filter makes fewer of them.", { count: number(lost) })}</span>}
      </div>
      <ul className="legend small stage-names" aria-label={t("Stages")}>{STAGES.map((stage) => <li key={stage}><span className={`stage ${stage}`} aria-hidden="true" />{stageName(stage)}</li>)}</ul>
      <Grid label={t("Requests")} rows={rows} columns={columns} keyOf={({ at }) => String(at)} least={1170} empty={<p>{isOn ? t("No request came yet.") : t("Begin a trace to see requests.")}</p>} />
    </div>
  );
}
