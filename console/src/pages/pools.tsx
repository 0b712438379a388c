/** Pools as pictures: every device with its state, what a scrub does, and what can be done. */
import { useState } from "react";
import { Link } from "wouter";
import { finished, post, type Schemas } from "../api/client";
import { useChange, useRead } from "../api/queries";
import { useSession } from "../api/session";
import { Check, Deeds, Empty, Failure, Form, Head, Loaded, Meter, Name, NameTyped, Progress, Sheet, State, toneOf, type Deed } from "../parts/ui";
import { AddDevices } from "../pools/add";
import { deedsOf, deviceName, DeviceForm, type At, type DeviceDeed } from "../pools/devices";
import { ago, number, percent, plainly, size, span, t, time, tn } from "../words";

type Pool = Schemas["PoolStatus"];
type Vdev = Schemas["VdevStatus"];
type Command = Schemas["ScanCommand"];

export default function Pools() {
  const pools = useRead("/v1/pools", {}, { refetchInterval: (query) => (query.state.data?.value.some((pool) => pool.scan?.state === "running") ? 2000 : 15_000) });
  const { may } = useSession();
  return (
    <div className="page">
      <Head title={t("Pools")} about={t("Devices, how they are, and what is done to keep data whole.")}>
        {may("administrator") && <Link href="/setup" className="button">{t("New pool")}</Link>}
      </Head>
      <Loaded of={pools}>
        {({ value }) => value.length === 0
          ? <Empty action={may("administrator") ? <Link href="/setup" className="button first">{t("Set up storage")}</Link> : undefined}>{t("There is no pool yet.")}</Empty>
          : value.map((pool) => <PoolCard key={pool.name} pool={pool} />)}
      </Loaded>
    </div>
  );
}

function PoolCard({ pool }: { pool: Pool }) {
  const { may } = useSession();
  const [asked, setAsked] = useState<"scrub" | "export" | "destroy" | "clear" | "add">();
  const scan = useChange((command: Command) => post("/v1/pools/{name}/scan", { path: { name: pool.name }, body: { command, history: `zpool scrub ${pool.name}` } }), ["/v1/pools", "/v1/jobs"]);
  const isRunning = pool.scan?.state === "running";
  const isPaused = pool.scan?.state === "paused";
  const deeds: Deed[] = [];
  if (may("operator")) {
    if (isRunning) {
      deeds.push({ id: "pause", name: t("Pause the scrub"), isDisabled: pool.scan?.kind !== "scrub", run: () => scan.mutate("pause") });
      deeds.push({ id: "stop", name: t("Stop the scrub"), isDisabled: pool.scan?.kind !== "scrub", run: () => scan.mutate("stop") });
    } else {
      deeds.push({ id: "scrub", name: isPaused ? t("Go on with the scrub") : t("Scrub…"), run: () => (isPaused ? scan.mutate("scrub") : setAsked("scrub")) });
    }
    deeds.push({ id: "clear", name: t("Clear errors…"), run: () => setAsked("clear") });
  }
  if (may("administrator")) {
    deeds.push({ id: "add", name: t("Add devices…"), run: () => setAsked("add") });
    deeds.push({ id: "export", name: t("Export…"), run: () => setAsked("export") });
    deeds.push({ id: "destroy", name: t("Destroy…"), isDangerous: true, run: () => setAsked("destroy") });
  }
  const close = () => setAsked(undefined);
  const tops = pool.root.children.filter((one) => !one.is_log && !one.class);
  const logs = pool.root.children.filter((one) => one.is_log);
  const classes = pool.root.children.filter((one) => one.class);
  return (
    <section className="card stack" aria-label={t("Pool {name}", { name: plainly(pool.name) })}>
      <div className="head">
        <div className="title row"><h2><Name>{pool.name}</Name></h2><State tone={toneOf(pool.health)}>{pool.health}</State></div>
        <Deeds label={t("Actions of pool {name}", { name: plainly(pool.name) })} deeds={deeds} />
      </div>
      {pool.status && <div className="note warn"><p>{plainly(pool.status)}</p>{pool.action && <p className="small">{plainly(pool.action)}</p>}</div>}
      <Failure error={scan.error} />
      <Meter label={t("Allocated")} part={pool.root.allocated} whole={pool.root.size} />
      <Scan pool={pool} />
      <Group name={t("Data")} vdevs={tops} pool={pool} />
      <Group name={t("Log")} vdevs={logs} pool={pool} />
      <Group name={t("Special and dedup")} vdevs={classes} pool={pool} />
      <Group name={t("Cache")} vdevs={pool.cache} pool={pool} />
      <Group name={t("Spares")} vdevs={pool.spares} pool={pool} />
      <Ask pool={pool} asked={asked} close={close} />
      <Sheet title={t("Add devices to {name}", { name: plainly(pool.name) })} isOpen={asked === "add"} onClose={close} isWide><AddDevices pool={pool} close={close} /></Sheet>
    </section>
  );
}

function Scan({ pool }: { pool: Pool }) {
  const { scan } = pool;
  if (!scan) return <p className="muted">{t("Never scrubbed.")}</p>;
  const name = scan.kind === "scrub" ? t("Scrub") : t("Resilver");
  if (scan.state === "running" || scan.state === "paused") {
    const seconds = Date.now() / 1000 - scan.pass_start - scan.spent_paused;
    const speed = seconds > 0 ? scan.pass_issued / seconds : 0;
    const rest = Math.max(0, scan.to_examine - scan.issued - scan.skipped);
    return (
      <div className="stack tight">
        <p><State tone={scan.state === "paused" ? "idle" : "busy"}>{scan.state === "paused" ? t("{scan} is paused", { scan: name }) : t("{scan} runs", { scan: name })}</State>
          {" "}<span className="muted">{t("{done} of {all}, {errors} errors", { done: size(scan.issued), all: size(scan.to_examine), errors: number(scan.errors) })}
            {scan.state === "running" && speed > 0 ? ` · ${t("{span} to go", { span: span(rest / speed) })}` : ""}</span></p>
        <Progress label={name} part={scan.issued} whole={scan.to_examine} />
      </div>
    );
  }
  return (
    <p className="muted">
      {scan.state === "canceled" ? t("{scan} was stopped {when}.", { scan: name, when: ago(scan.end) })
        : t("{scan} ended {when}: {size} repaired, {errors} errors, took {span}.", { scan: name, when: ago(scan.end), size: size(scan.processed), errors: number(scan.errors), span: span(scan.end - scan.start) })}
    </p>
  );
}

function Group({ name, vdevs, pool }: { name: string; vdevs: Vdev[]; pool: Pool }) {
  if (vdevs.length === 0) return null;
  return (
    <div className="stack tight">
      <h3>{name}</h3>
      <ul className="vdevs">{vdevs.map((vdev) => <Top key={vdev.guid} vdev={vdev} pool={pool} />)}</ul>
    </div>
  );
}

/** Devices of a top-level vdev. Those of one that is being replaced are there as well. */
const leavesOf = (vdev: Vdev): Vdev[] => (vdev.children.length === 0 ? [vdev] : vdev.children.flatMap(leavesOf));

function Top({ vdev, pool }: { vdev: Vdev; pool: Pool }) {
  const at = { pool, vdev, top: vdev };
  if (vdev.children.length === 0) return <li className="vdev"><Leaf at={at} isAlone /></li>;
  return (
    <li className="vdev">
      <div className="head">
        <span className="title row"><strong>{plainly(vdev.name)}</strong><State tone={toneOf(vdev.health)}>{vdev.health}</State></span>
        <DeviceDeeds at={at} name={vdev.name} more={[]} />
      </div>
      <p className="small muted">{t("{share} % of {size}", { share: percent(vdev.allocated, vdev.size), size: size(vdev.size) })}</p>
      <ul className="leaves">{leavesOf(vdev).map((one) => <li key={one.guid}><Leaf at={{ pool, vdev: one, top: vdev }} /></li>)}</ul>
    </li>
  );
}

/** What can be done with a device or a top-level vdev, and the forms for it. */
function DeviceDeeds({ at, name, more }: { at: At; name: string; more: Deed[] }) {
  const { may } = useSession();
  const [asked, setAsked] = useState<DeviceDeed>();
  const shown = plainly(name);
  const names: Record<DeviceDeed, string> = { attach: t("Attach a mirror…"), replace: t("Replace…"), detach: t("Detach…"), remove: t("Remove…") };
  const titles: Record<DeviceDeed, string> = { attach: t("Attach to {name}", { name: shown }), replace: t("Replace {name}", { name: shown }), detach: t("Detach {name}?", { name: shown }), remove: t("Remove {name}?", { name: shown }) };
  const own = may("administrator") ? deedsOf(at) : [];
  const deeds = [...more, ...own.map((id): Deed => ({ id, name: names[id], isDangerous: id === "detach" || id === "remove", run: () => setAsked(id) }))];
  const close = () => setAsked(undefined);
  return (
    <>
      <Deeds isQuiet label={at.vdev.children.length > 0 ? t("Actions of vdev {name}", { name: shown }) : t("Actions of device {name}", { name: shown })} deeds={deeds} />
      <Sheet title={asked ? titles[asked] : ""} isOpen={!!asked} onClose={close} isAlert={asked === "detach" || asked === "remove"}>
        {asked && <DeviceForm deed={asked} at={at} close={close} />}
      </Sheet>
    </>
  );
}

function Leaf({ at, isAlone }: { at: At; isAlone?: boolean }) {
  const { pool, vdev } = at;
  const { may } = useSession();
  const [isAsked, setAsked] = useState(false);
  const online = useChange(() => post("/v1/pools/{name}/online", { path: { name: pool.name }, body: { guid: vdev.guid, expand: false, history: "" } }), ["/v1/pools"]);
  const errors = vdev.read_errors + vdev.write_errors + vdev.checksum_errors;
  const name = deviceName(vdev);
  const isOff = vdev.health === "OFFLINE";
  const deeds: Deed[] = may("operator") && !vdev.used_by && vdev.path && !isAlone
    ? [isOff ? { id: "on", name: t("Bring online"), run: () => online.mutate(undefined) } : { id: "off", name: t("Take offline…"), run: () => setAsked(true) }]
    : [];
  return (
    <div className={`leaf ${toneOf(vdev.health)}`}>
      <div className="head">
        <span className="title mono" title={vdev.path ? plainly(vdev.path) : undefined}><Name>{name}</Name></span>
        <State tone={toneOf(vdev.health)}>{vdev.health}</State>
      </div>
      <div className="head">
        <span className="title small muted">
          {errors > 0 ? t("Errors: {read} read, {write} write, {sum} checksum", { read: number(vdev.read_errors), write: number(vdev.write_errors), sum: number(vdev.checksum_errors) }) : t("No errors")}
          {vdev.note ? ` · ${plainly(vdev.note)}` : ""}
        </span>
        <DeviceDeeds at={at} name={name} more={deeds} />
      </div>
      <Failure error={online.error} />
      <Sheet title={t("Take {name} offline?", { name: plainly(name) })} isOpen={isAsked} onClose={() => setAsked(false)} isAlert>
        <p>{t("The pool goes on without this device, and its redundancy is less until it is online again. Then it is resilvered: it gets what was written meanwhile. This can be undone.")}</p>
        <Form action={t("Take offline")} isDangerous onCancel={() => setAsked(false)} onDone={() => setAsked(false)}
          run={async () => finished(await post("/v1/pools/{name}/offline", { path: { name: pool.name }, body: { guid: vdev.guid, temporary: false, fault: false, history: "" } }))}>{null}</Form>
      </Sheet>
    </div>
  );
}

function Ask({ pool, asked, close }: { pool: Pool; asked: string | undefined; close: () => void }) {
  const [typed, setTyped] = useState("");
  const [isForced, setForced] = useState(false);
  const name = plainly(pool.name);
  const path = { name: pool.name };
  const done = () => {
    setTyped("");
    close();
  };
  const release = async (verb: "export" | "destroy") => {
    const body = { force: isForced };
    await finished(await post(verb === "export" ? "/v1/pools/{name}/export" : "/v1/pools/{name}/destroy", { path, body }));
  };
  return (
    <>
      <Sheet title={t("Scrub {name}?", { name })} isOpen={asked === "scrub"} onClose={close}>
        <p>{t("All {size} that are allocated are read and compared with their checksums, and what is bad is repaired. It runs behind what clients do and slows them a little. It can be paused and stopped at any time.", { size: size(pool.root.allocated) })}</p>
        {pool.scan && pool.scan.end > 0 && <p className="muted">{t("The last one began {when}.", { when: time(pool.scan.start) })}</p>}
        <Form action={t("Begin scrub")} onCancel={close} onDone={close} run={() => post("/v1/pools/{name}/scan", { path, body: { command: "scrub", history: `zpool scrub ${pool.name}` } })}>{null}</Form>
      </Sheet>
      <Sheet title={t("Clear errors of {name}?", { name })} isOpen={asked === "clear"} onClose={close}>
        <p>{t("Error counters begin at zero again, and faulted devices are tried once more. Nothing is repaired by it.")}</p>
        <Form action={t("Clear errors")} onCancel={close} onDone={close} run={async () => finished(await post("/v1/pools/{name}/clear", { path, body: { history: `zpool clear ${pool.name}` } as never }))}>{null}</Form>
      </Sheet>
      <Sheet title={t("Export {name}?", { name })} isOpen={asked === "export"} onClose={close} isAlert>
        <p>{t("Its file systems, shares and volumes are not served any more until it is imported again, here or on another machine. No data is lost.")}</p>
        <Form action={t("Export")} isDangerous isDisabled={typed !== pool.name} onCancel={close} onDone={done} run={() => release("export")}>
          <NameTyped name={pool.name} value={typed} onChange={setTyped} />
          <Check isSelected={isForced} onChange={setForced}>{t("Even if something is in use")}</Check>
        </Form>
      </Sheet>
      <Sheet title={t("Destroy {name}?", { name })} isOpen={asked === "destroy"} onClose={close} isAlert>
        <div className="note bad"><p>{t("All datasets, snapshots and volumes of the pool are lost: {size}.", { size: size(pool.root.allocated) })}</p></div>
        <p>{tn(pool.root.children.length, "Its {count} top-level vdev becomes free. This cannot be undone.", "Its {count} top-level vdevs become free. This cannot be undone.")}</p>
        <Form action={t("Destroy pool")} isDangerous isDisabled={typed !== pool.name} onCancel={close} onDone={done} run={() => release("destroy")}>
          <NameTyped name={pool.name} value={typed} onChange={setTyped} />
          <Check isSelected={isForced} onChange={setForced}>{t("Even if something is in use")}</Check>
        </Form>
      </Sheet>
    </>
  );
}
