/** What looks after the data by itself: how each service stands, what it does next and why, and what it did. */
import { useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { Tab, TabList, TabPanel, Tabs } from "react-aria-components/Tabs";
import { post, type Schemas } from "../api/client";
import { renew, useChange, useRead } from "../api/queries";
import { useSession } from "../api/session";
import { Button, Failure, Form, Head, Loaded, Name, NameTyped, Sheet, State, toneOf } from "../parts/ui";
import { Grid, type Column } from "../parts/grid";
import { aboutOf, reasonOf } from "../parts/schedules";
import { ChangeService, NewService } from "../services/form";
import { Plan } from "../services/plan";
import { SleepingServices } from "../services/sleeping";
import { ago, exactTime, number, plainly, span, t } from "../words";

type Service = Schemas["Service"];
type Entry = Schemas["ServiceLogEntry"];

export default function Services() {
  const services = useRead("/v1/services", {}, { refetchInterval: (query) => (query.state.data?.value.some(({ state }) => state === "running") ? 2000 : 15_000) });
  const { may } = useSession();
  const [opened, open] = useState<string>();
  const [isNew, setNew] = useState(false);
  const columns: Column<Service>[] = [
    { id: "id", name: t("Service"), width: "minmax(150px, 1fr)", show: ({ id }) => <Name>{id}</Name>, order: (a, b) => (a.id < b.id ? -1 : 1) },
    { id: "state", name: t("State"), width: "130px", show: ({ state }) => <State tone={toneOf(state)}>{state}</State> },
    { id: "about", name: t("What it does"), width: "minmax(260px, 3fr)", show: ({ spec }) => <span title={aboutOf(spec)}>{aboutOf(spec)}</span> },
    { id: "last", name: t("Last run"), width: "150px", show: ({ last }) => (last ? ago(last.ended) : t("never")) },
    { id: "next", name: t("Next run"), width: "150px", show: ({ next }) => (next ? ago(next.at) : "–") },
    { id: "covers", name: t("Covers"), width: "90px", isNumber: true, show: ({ covers }) => number(covers) },
  ];
  return (
    <div className="page">
      <Head title={t("Services")} about={t("They take snapshots, scrub, trim and replicate by a schedule. Enter opens one: its plan, its log, and what can be asked of it.")}>
        {may("administrator") && <Button manner="first" onPress={() => setNew(true)}>{t("New service")}</Button>}
      </Head>
      <Loaded of={services}>
        {({ value }) => {
          const one = value.find(({ id }) => id === opened);
          return (
            <>
              <Grid label={t("Services")} rows={value} columns={columns} keyOf={({ id }) => id} onOpen={({ id }) => open(id)} least={900} empty={<p>{t("No service looks after the data. Snapshots are taken by hand alone.")}</p>} />
              <Sheet title={t("Service {name}", { name: plainly(opened ?? "") })} isOpen={!!one} onClose={() => open(undefined)} isWide>{one && <Detail service={one} close={() => open(undefined)} />}</Sheet>
            </>
          );
        }}
      </Loaded>
      <SleepingServices />
      <Sheet title={t("New service")} isOpen={isNew} onClose={() => setNew(false)} isWide><NewService close={() => setNew(false)} /></Sheet>
    </div>
  );
}

function Detail({ service, close }: { service: Service; close: () => void }) {
  const { may } = useSession();
  const path = { name: service.id };
  const [part, show] = useState<"change" | "remove">();
  const ask = useChange((command: Schemas["ServiceCommand"]) => post("/v1/services/{name}/command", { path, body: { command } }), ["/v1/services"]);
  const mayAsk = may("operator");
  if (part === "remove") return <Remove service={service} close={() => show(undefined)} onDone={close} />;
  if (part === "change") return <ChangeService service={service} close={() => show(undefined)} />;
  const { cause } = service;
  return (
    <>
      <dl className="facts">
        <dt>{t("State")}</dt><dd><State tone={toneOf(service.state)}>{service.state}</State> <span className="muted">{t("since {time}", { time: exactTime(service.since) })}</span></dd>
        <dt>{t("What it does")}</dt><dd>{aboutOf(service.spec)}</dd>
        {service.next && <><dt>{t("Next run")}</dt><dd>{t("{time}, {reason}", { time: exactTime(service.next.at), reason: reasonOf(service.next.reason) })}</dd></>}
        {service.last && <><dt>{t("Last run")}</dt><dd>{lastOf(service.last)}</dd></>}
      </dl>
      {cause.kind === "failed" && <p className="note bad">{t("{subject}: {detail}", { subject: plainly(cause.failure.subject), detail: plainly(cause.failure.problem.detail) })}</p>}
      {service.last?.failures.slice(0, 5).map((one, at) => <p key={at} className="note warn">{t("{subject}: {detail}", { subject: plainly(one.subject), detail: plainly(one.problem.detail) })}</p>)}
      <Tabs className="tabs">
        <TabList aria-label={t("Service")}><Tab id="plan">{t("Plan")}</Tab><Tab id="log">{t("Log")}</Tab></TabList>
        <TabPanel id="plan"><Plan id={service.id} /></TabPanel>
        <TabPanel id="log"><Log id={service.id} /></TabPanel>
      </Tabs>
      <Failure error={ask.error} />
      <div className="row end">
        {may("administrator") && <Button manner="danger" onPress={() => show("remove")}>{t("Remove…")}</Button>}
        {may("administrator") && <Button onPress={() => show("change")}>{t("Change…")}</Button>}
        {mayAsk && service.state === "maintenance" && <Button onPress={() => ask.mutate("clear")}>{t("Clear: it goes on")}</Button>}
        {mayAsk && <Button onPress={() => ask.mutate(service.state === "disabled" ? "enable" : "disable")}>{service.state === "disabled" ? t("Enable") : t("Disable")}</Button>}
        {mayAsk && service.state !== "disabled" && <Button manner="first" onPress={() => ask.mutate("run")} isDisabled={service.state === "running"}>{t("Run now")}</Button>}
        <Button onPress={close}>{t("Close")}</Button>
      </div>
    </>
  );
}

const lastOf = (run: Schemas["LastRun"]) =>
  t("{time}, {reason}: {done} done, {destroyed} destroyed, {failed} failed, took {span}", {
    time: exactTime(run.began), reason: reasonOf(run.reason), done: number(run.done), destroyed: number(run.destroyed), failed: number(run.failed), span: span(run.ended - run.began),
  });

function Remove({ service, close, onDone }: { service: Service; close: () => void; onDone: () => void }) {
  const [typed, setTyped] = useState("");
  const client = useQueryClient();
  const run = async () => {
    await post("/v1/services/{name}/remove", { path: { name: service.id } });
    await renew(client, ["/v1/services"]);
  };
  return (
    <Form action={t("Remove service")} isDangerous isDisabled={typed !== service.id} onCancel={close} onDone={onDone} run={run}>
      <p className="note warn">{t("Nothing is done by it any more. The snapshots that it has made stay, and nobody destroys them when they are old.")}</p>
      <NameTyped name={service.id} value={typed} onChange={setTyped} />
    </Form>
  );
}

function entryOf(entry: Entry): string {
  switch (entry.kind) {
    case "state": return entry.cause.kind === "failed" ? t("{state}: {detail}", { state: entry.state, detail: plainly(entry.cause.failure.problem.detail) }) : String(entry.state);
    case "ended": return lastOf(entry.run);
    case "program": return plainly(entry.output);
    case "set": return t("its settings were changed");
    case "clock": return entry.dispute ? t("the clock is not believed") : t("the clock is believed again");
    default: return (entry as { kind: string }).kind;
  }
}

function Log({ id }: { id: string }) {
  const log = useRead("/v1/services/{name}/log", { path: { name: id } });
  return (
    <Loaded of={log}>
      {({ value }) => value.length === 0 ? <p className="muted">{t("It has no log yet.")}</p> : (
        <div className="scroll-x">
          <table className="plain"><tbody>{value.toReversed().slice(0, 100).map((line, at) => <tr key={at}><td className="small muted">{exactTime(line.at)}</td><td>{entryOf(line.entry)}</td></tr>)}</tbody></table>
        </div>
      )}
    </Loaded>
  );
}
