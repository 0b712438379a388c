/** What a service will do in the next days, as the engine has planned it, and what it will destroy. */
import type { Schemas } from "../api/client";
import { useRead } from "../api/queries";
import { Loaded, Name } from "../parts/ui";
import { exactTime, number, plainly, size, t, tn } from "../words";

const DAYS = 7;
const SHOWN = 40;

export function Plan({ id }: { id: string }) {
  const plan = useRead("/v1/services/{name}/plan", { path: { name: id }, query: { days: DAYS } as never });
  return (
    <Loaded of={plan}>
      {({ value }) => {
        const plans = value.snapshots?.plans ?? [];
        const made = plans.reduce((sum, one) => sum + one.groups.reduce((all, { creates }) => all + creates.length, 0), 0);
        const gone = plans.flatMap((one) => one.destroys.map((each) => ({ at: one.at, name: `${each.dataset}@${each.snapshot}` })));
        return (
          <div className="stack">
            <p>{t("In the next {count} days:", { count: DAYS })} {plans.length === 0 ? tn(value.runs.length + value.left_out, "{count} run", "{count} runs") : ""}{plans.length > 0 ? `${tn(made, "{count} snapshot made", "{count} snapshots made")}, ${tn(gone.length, "{count} destroyed", "{count} destroyed")}` : ""}.</p>
            {value.runs.length > 0 && <p className="muted small">{t("The first ones: {times}", { times: value.runs.slice(0, 4).map(({ at }) => exactTime(at)).join(" · ") })}</p>}
            {value.syncs.slice(0, SHOWN).map((one) => (
              <div key={`${one.dataset} ${one.target}`} className={one.refusal || one.unreachable ? "note warn stack tight" : "note stack tight"}>
                <p><Name>{one.dataset}</Name>{" → "}<Name>{one.target}</Name></p>
                {one.unreachable && <p>{plainly(one.unreachable.detail)}</p>}
                {one.refusal && <p>{refusalOf(one.refusal)}</p>}
                {!one.unreachable && !one.refusal && one.steps.length === 0 && <p className="muted">{t("It has all of its source.")}</p>}
                {one.steps.length > 0 && <ul className="steps small">{one.steps.map((step, at) => <li key={at}>{stepOf(step)}</li>)}</ul>}
              </div>
            ))}
            {value.tier && <Tier plan={value.tier} />}
            {gone.length > 0 && (
              <>
                <h3>{t("What is destroyed, and when")}</h3>
                <div className="scroll-x">
                  <table className="plain">
                    <thead><tr><th scope="col">{t("Time")}</th><th scope="col">{t("Snapshot")}</th></tr></thead>
                    <tbody>{gone.slice(0, SHOWN).map((one) => <tr key={one.name}><td>{exactTime(one.at)}</td><td className="mono small"><Name>{one.name}</Name></td></tr>)}</tbody>
                  </table>
                </div>
                {gone.length > SHOWN && <p className="muted">{t("and {count} more", { count: gone.length - SHOWN })}</p>}
              </>
            )}
          </div>
        );
      }}
    </Loaded>
  );
}


function stepOf(step: Schemas["SyncStep"]): string {
  const named = (name: string) => plainly(name);
  switch (step.kind) {
    case "snapshot": return t("Snapshot {name} is made", { name: named(step.snapshot) });
    case "hold": return t("{name} is held", { name: named(step.snapshot) });
    case "release": return t("{name} is let go", { name: named(step.snapshot) });
    case "send": return step.from ? t("{name} is sent, from {base}", { name: named(step.snapshot), base: named(step.from) }) : t("{name} is sent, all of it", { name: named(step.snapshot) });
    case "resume": return t("What broke off goes on");
    case "abort": return t("What broke off is given up");
    case "stamp": return t("It is noted that {name} is there", { name: named(step.snapshot) });
    case "bookmark": return t("A bookmark takes the place of {name}", { name: named(step.snapshot) });
    case "destroy": return step.side === "source" ? t("{name} is destroyed at the source", { name: named(step.name) }) : t("{name} is destroyed at the replica", { name: named(step.name) });
  }
}

function refusalOf(refusal: Schemas["SyncRefusal"]): string {
  switch (refusal.kind) {
    case "no-replica": return t("Its place is taken by a dataset that is no replica: take another one, or rename that.");
    case "other-replica": return t("Its place is taken by the replica of another service or source.");
    case "replica-gone": return t("The replica is gone: destroyed, or renamed. Rename it back, or clear the service: all is sent anew.");
    case "no-common-base": return t("The replica has no snapshot that its source has as well. Destroy it: all is sent anew.");
    case "diverged": return t("The replica has a snapshot of its own, {name}: destroy it.", { name: plainly(refusal.snapshot) });
    case "not-read-only": return t("The replica may be written to. Set readonly=on, and roll it back if it was written to.");
  }
}

function Tier({ plan }: { plan: Schemas["TierPlan"] }) {
  return (
    <div className={plan.refusal ? "note warn stack tight" : "note stack tight"}>
      <p>{tn(plan.files, "{count} file would be copied: {size}", "{count} files would be copied: {size}", { size: size(plan.bytes) })}{plan.removable > 0 ? ` · ${t("{count} would be removed here", { count: number(plan.removable) })}` : ""}</p>
      {plan.is_cut && <p>{t("There may be more: a plan looks at so many files alone.")}</p>}
    </div>
  );
}
