/** Long work: what runs, and what has ended. */
import { useState } from "react";
import { post, type Schemas } from "../api/client";
import { useChange, useRead } from "../api/queries";
import { useSession } from "../api/session";
import { Button, Failure, Head, Loaded, Name, Progress, Sheet, State, toneOf } from "../parts/ui";
import { Grid, type Column } from "../parts/grid";
import { exactTime, plainly, span, t } from "../words";

type Job = Schemas["Job"];

export default function Jobs() {
  const jobs = useRead("/v1/jobs", {}, { refetchInterval: (query) => (query.state.data?.value.some(({ state }) => state === "running") ? 2000 : false) });
  const [opened, open] = useState<number>();
  const columns: Column<Job>[] = [
    { id: "id", name: t("Job"), width: "70px", isNumber: true, show: ({ id }) => id, order: (a, b) => a.id - b.id },
    { id: "state", name: t("State"), width: "110px", show: ({ state }) => <State tone={toneOf(state)}>{state}</State> },
    { id: "kind", name: t("Kind"), width: "minmax(140px, 1fr)", show: ({ kind }) => <span className="mono">{kind}</span>, order: (a, b) => (a.kind < b.kind ? -1 : 1) },
    { id: "target", name: t("Of"), width: "minmax(170px, 2fr)", show: ({ target }) => <span title={plainly(target)}><Name>{target}</Name></span> },
    { id: "began", name: t("Began"), width: "180px", show: ({ began }) => (began == null ? "–" : exactTime(began)) },
    { id: "took", name: t("Took"), width: "110px", isNumber: true, show: ({ began, ended }) => (began == null || ended == null ? "–" : span(ended - began)) },
  ];
  return (
    <div className="page">
      <Head title={t("Jobs")} about={t("Those that run, and the last 256 that have ended.")} />
      <Loaded of={jobs}>
        {({ value }) => {
          const one = value.find(({ id }) => id === opened);
          return (
            <>
              <Grid label={t("Jobs")} rows={value.toSorted((a, b) => b.id - a.id)} columns={columns} keyOf={({ id }) => String(id)} onOpen={({ id }) => open(id)} least={780} empty={<p>{t("There was no job yet.")}</p>} />
              <Sheet title={t("Job {id}", { id: opened ?? "" })} isOpen={!!one} onClose={() => open(undefined)} isWide>{one && <Detail job={one} close={() => open(undefined)} />}</Sheet>
            </>
          );
        }}
      </Loaded>
    </div>
  );
}

function Detail({ job, close }: { job: Job; close: () => void }) {
  const { may } = useSession();
  const log = useRead("/v1/jobs/{id}/log", { path: { id: job.id } }, { refetchInterval: job.state === "running" ? 2000 : false });
  const cancel = useChange(() => post("/v1/jobs/{id}/cancel", { path: { id: job.id } }), ["/v1/jobs"]);
  return (
    <>
      <dl className="facts">
        <dt>{t("State")}</dt><dd><State tone={toneOf(job.state)}>{job.state}</State></dd>
        <dt>{t("Kind")}</dt><dd className="mono">{job.kind}</dd>
        <dt>{t("Of")}</dt><dd><Name>{job.target}</Name></dd>
        <dt>{t("Asked for by")}</dt><dd>{job.asked_by == null ? t("not known") : t("user number {uid}", { uid: job.asked_by })}</dd>
        <dt>{t("Step")}</dt><dd>{plainly(job.progress.step) || "–"}</dd>
      </dl>
      {job.state === "running" && job.progress.total > 0 && <Progress label={t("Progress")} part={job.progress.done} whole={job.progress.total} />}
      {job.problem && <p className="note bad">{plainly(job.problem.detail)}</p>}
      {job.result?.warnings.map((one) => <p key={one} className="note warn">{plainly(one)}</p>)}
      <Loaded of={log}>
        {({ value }) => value.lines.length === 0 ? <p className="muted">{t("It has no log.")}</p> : (
          <table className="plain"><tbody>{value.lines.map((line, at) => <tr key={at}><td className="small muted">{exactTime(line.time)}</td><td>{plainly(line.step)}</td></tr>)}</tbody></table>
        )}
      </Loaded>
      <Failure error={cancel.error} />
      <div className="row end">
        {job.cancellable && may("operator") && <Button manner="danger" onPress={() => cancel.mutate(undefined)}>{t("Cancel the job")}</Button>}
        <Button onPress={close}>{t("Close")}</Button>
      </div>
    </>
  );
}
