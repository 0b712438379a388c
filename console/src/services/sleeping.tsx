/** Services that came along with a stream: what a dataset keeps of them does nothing before somebody wakes it. */
import { useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { post, type Schemas } from "../api/client";
import { renew, useRead } from "../api/queries";
import { useSession } from "../api/session";
import { Button, Failure, Form, Name, NameTyped, Sheet } from "../parts/ui";
import { aboutOf } from "../parts/schedules";
import { plainly, t } from "../words";

type Sleeping = Schemas["SleepingPolicy"];

function whyOf(why: Schemas["PolicySleeps"]): string {
  switch (why.kind) {
    case "replica": return t("It came with a stream: its dataset is taken for a replica.");
    case "id-taken": return t("Another service has its name: remove that one, or rename it.");
    case "too-many": return t("There are too many services.");
    case "malformed": return t("It makes no sense: it is to be set anew where it came from.");
    case "not-kept": return t("The machine's database did not take it: {why}", { why: plainly(why.why) });
  }
}

export function SleepingServices() {
  const { may } = useSession();
  const sleeping = useRead("/v1/service-policies", {}, { refetchInterval: 15_000 });
  const [woken, wake] = useState<Sleeping>();
  const all = sleeping.data?.value ?? [];
  if (sleeping.error) return <Failure error={sleeping.error} />;
  if (all.length === 0) return null;
  const close = () => wake(undefined);
  return (
    <section className="card stack" aria-labelledby="sleeping">
      <h2 id="sleeping">{t("Asleep")}</h2>
      <p className="muted">{t("What datasets keep of services, and what is not at work here.")}</p>
      <div className="scroll-x">
        <table className="plain">
          <thead><tr><th scope="col">{t("Service")}</th><th scope="col">{t("Dataset")}</th><th scope="col">{t("What it would do")}</th><th scope="col">{t("Why not")}</th><th scope="col">{t("Change")}</th></tr></thead>
          <tbody>
            {all.map((one) => (
              <tr key={`${one.id ?? ""}@${one.dataset}`}>
                <td>{one.id ? <Name>{one.id}</Name> : t("all of them")}</td>
                <td><Name>{one.dataset}</Name></td>
                <td>{one.spec ? aboutOf(one.spec) : "–"}</td>
                <td>{whyOf(one.why)}</td>
                <td>{one.id && one.why.kind === "replica" && may("administrator") && <Button aria-label={t("Wake {name}", { name: plainly(one.id) })} onPress={() => wake(one)}>{t("Wake…")}</Button>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Sheet title={t("Wake {name}?", { name: plainly(woken?.id ?? "") })} isOpen={!!woken} onClose={close} isAlert>{woken?.id && <Wake id={woken.id} dataset={woken.dataset} close={close} />}</Sheet>
    </section>
  );
}

function Wake({ id, dataset, close }: { id: string; dataset: string; close: () => void }) {
  const [typed, setTyped] = useState("");
  const client = useQueryClient();
  const run = async () => {
    await post("/v1/service-policies/wake", { body: { dataset, id } });
    await renew(client, ["/v1/services", "/v1/service-policies"]);
  };
  return (
    <Form action={t("Wake")} isDangerous isDisabled={typed !== id} onCancel={close} onDone={close} run={run}>
      <p>{t("You say that {name} is no replica any more. The service begins by its schedule: it takes and destroys snapshots of it by its own rules.", { name: plainly(dataset) })}</p>
      <p className="note warn">{t("If {name} is still a replica, a snapshot that is taken there ends its replication until somebody has looked.", { name: plainly(dataset) })}</p>
      <NameTyped name={id} value={typed} onChange={setTyped} />
    </Form>
  );
}
