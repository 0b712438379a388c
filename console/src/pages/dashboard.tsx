/** Health at a glance: capacity, throughput, faults, services, replicas. */
import { Link } from "wouter";
import { get, type Schemas } from "../api/client";
import { useRead } from "../api/queries";
import { useQuery } from "@tanstack/react-query";
import { useSession } from "../api/session";
import { Chart } from "../parts/chart";
import { Trend } from "../parts/trend";
import { Empty, Failure, Head, Loaded, Meter, Name, State, toneOf } from "../parts/ui";
import { ago, plainly, size, span, t, tn } from "../words";

const EVERY = 10_000;
const SPAN = 3600;
const SERIES = ["files.read_bytes", "volumes.read_bytes", "files.write_bytes", "volumes.write_bytes"];

export default function Dashboard() {
  return (
    <div className="page">
      <Head title={t("Dashboard")} />
      <Verdict />
      <div className="cards wide">
        <Throughput />
        <Capacity />
      </div>
      <div className="cards wide">
        <ServicesCard />
        <ReplicasCard />
      </div>
    </div>
  );
}

/** One sentence: is all well? */
function Verdict() {
  const { may } = useSession();
  const pools = useRead("/v1/pools");
  const alerts = useRead("/v1/alerts", { query: { limit: 100 } as never });
  if (pools.error || alerts.error) return <Failure error={pools.error ?? alerts.error} />;
  if (!pools.data || !alerts.data) return <p className="muted" role="status">{t("Loading…")}</p>;
  const open = alerts.data.value;
  const ill = pools.data.value.filter(({ health }) => health !== "ONLINE");
  if (pools.data.value.length === 0) {
    const start = may("administrator") ? <Link href="/setup" className="button first">{t("Set up storage")}</Link> : undefined;
    return <Empty action={start}>{t("There is no pool yet.")}</Empty>;
  }
  const isBad = ill.length > 0 || open.some(({ severity }) => severity !== "warning");
  const tone = isBad ? "bad" : open.length > 0 ? "warn" : "good";
  return (
    <section className="card stack tight" aria-labelledby="verdict">
      <h2 id="verdict"><State tone={tone}>{tone === "good" ? t("All is well") : tn(open.length + ill.length, "{count} thing needs attention", "{count} things need attention")}</State></h2>
      {tone === "good" && <p className="muted">{tn(pools.data.value.length, "{count} pool is online, and no fault is open.", "{count} pools are online, and no fault is open.")}</p>}
      <ul className="steps">
        {ill.map((pool) => <li key={pool.name}><State tone={toneOf(pool.health)}>{pool.health}</State> <Link href="/pools"><Name>{pool.name}</Name></Link> <span className="muted">{pool.status}</span></li>)}
        {open.slice(0, 5).map((one) => <li key={one.id}><State tone={one.severity === "warning" ? "warn" : "bad"}>{one.severity}</State> <Link href="/faults">{plainly(one.title)}</Link></li>)}
      </ul>
      {open.length > 5 && <p><Link href="/faults">{t("All faults")}</Link></p>}
    </section>
  );
}

type History = Schemas["History"];

/** Values of several series, added. What is not known of one is not known of the sum. */
function sum(history: History, names: string[]): (number | null)[] {
  const found = history.series.filter(({ name }) => names.includes(name)).map(({ values }) => values as (number | null)[]);
  return (found[0] ?? []).map((_, at) => found.reduce<number | null>((all, one) => (all === null || one[at] == null ? null : all + one[at]!), 0));
}

function Throughput() {
  const history = useQuery({
    queryKey: ["history", "throughput"],
    queryFn: async ({ signal }) => {
      const now = Math.floor(Date.now() / 1000);
      const query = { series: SERIES.join(","), from: now - SPAN, to: now, points: 360 };
      return (await get("/v1/statistics/history", { query: query as never, signal })).value;
    },
    refetchInterval: EVERY,
  });
  return (
    <section className="card stack" aria-labelledby="throughput">
      <h2 id="throughput">{t("Throughput of the last hour")}</h2>
      <Loaded of={history}>
        {(of) => (
          <Chart label={t("Bytes per second read and written by clients")} first={of.first} step={of.step} names={[t("Read"), t("Written")]}
            values={[sum(of, ["files.read_bytes", "volumes.read_bytes"]), sum(of, ["files.write_bytes", "volumes.write_bytes"])]} />
        )}
      </Loaded>
    </section>
  );
}

function Capacity() {
  const pools = useRead("/v1/pools");
  return (
    <section className="card stack" aria-labelledby="capacity">
      <h2 id="capacity">{t("Capacity")}</h2>
      <Loaded of={pools}>
        {({ value }) => value.length === 0 ? <p className="muted">{t("There is no pool yet.")}</p> : (
          <ul className="steps">
            {value.map((pool) => (
              <li key={pool.name}>
                <Meter label={plainly(pool.name)} part={pool.root.allocated} whole={pool.root.size} />
                <p className="small muted">{t("{free} free for blocks, parity counted. The pool is {health}.", { free: size(pool.root.size - pool.root.allocated), health: pool.health })}</p>
                <Trend pool={pool} />
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </section>
  );
}

function ServicesCard() {
  const services = useRead("/v1/services");
  return (
    <section className="card stack" aria-labelledby="services">
      <h2 id="services"><Link href="/services">{t("Services")}</Link></h2>
      <Loaded of={services}>
        {({ value }) => value.length === 0 ? <p className="muted">{t("No service looks after the data. Snapshots are taken by hand alone.")}</p> : (
          <table className="plain">
            <thead><tr><th scope="col">{t("Service")}</th><th scope="col">{t("State")}</th><th scope="col">{t("Next")}</th></tr></thead>
            <tbody>
              {value.slice(0, 8).map((one) => (
                <tr key={one.id}><td><Name>{one.id}</Name></td><td><State tone={toneOf(one.state)}>{one.state}</State></td><td>{one.next ? ago(one.next.at) : "–"}</td></tr>
              ))}
            </tbody>
          </table>
        )}
      </Loaded>
    </section>
  );
}

function ReplicasCard() {
  const services = useRead("/v1/services");
  const now = Date.now() / 1000;
  return (
    <section className="card stack" aria-labelledby="replicas">
      <h2 id="replicas"><Link href="/replication">{t("Replication")}</Link></h2>
      <Loaded of={services}>
        {({ value }) => {
          const replicas = value.flatMap((one) => one.sync?.replicas ?? []);
          if (replicas.length === 0) return <p className="muted">{t("Nothing is replicated.")}</p>;
          return (
            <table className="plain">
              <thead><tr><th scope="col">{t("Dataset")}</th><th scope="col">{t("Replica")}</th><th scope="col" className="number">{t("Behind by")}</th></tr></thead>
              <tbody>
                {replicas.slice(0, 8).map((one) => (
                  <tr key={`${one.dataset} ${one.target}`}><td><Name>{one.dataset}</Name></td><td><Name>{one.target}</Name></td><td className="number">{one.current == null ? t("nothing there yet") : span(now - one.current)}</td></tr>
                ))}
              </tbody>
            </table>
          );
        }}
      </Loaded>
    </section>
  );
}
