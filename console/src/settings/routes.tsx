/** Where faults are told: mail, webhooks and syslog, each with how it does and a trial. */
import { useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { post, type Schemas } from "../api/client";
import { renew, useChange, useRead } from "../api/queries";
import { useSession } from "../api/session";
import { linesOf, wholeOrNone } from "../parts/amounts";
import { Button, Deeds, Failure, Field, Form, Loaded, Name, NameTyped, Select, Sheet, State } from "../parts/ui";
import { ago, plainly, t, tn } from "../words";

type Status = Schemas["RouteStatus"];
type Route = Schemas["AlertRoute"];
type Target = Schemas["RouteTargetRequest"];
type Way = "mail" | "webhook" | "syslog";

const PATHS = ["/v1/alert-routes"];

export function Routes() {
  const { may } = useSession();
  const routes = useRead("/v1/alert-routes");
  const [edited, edit] = useState<Route | "new">();
  const close = () => edit(undefined);
  return (
    <section className="card stack" aria-labelledby="routes">
      <div className="head">
        <h2 id="routes" className="title">{t("Who is told")}</h2>
        {may("administrator") && <Button onPress={() => edit("new")}>{t("New route")}</Button>}
      </div>
      <Loaded of={routes}>
        {({ value }) => value.length === 0
          ? <p className="muted">{t("Nobody is told by mail, webhook or syslog.")}</p>
          : <ul className="steps">{value.map((one) => <RouteRow key={one.route.name} status={one} edit={() => edit(one.route)} />)}</ul>}
      </Loaded>
      <Sheet title={edited === "new" ? t("New route") : t("Route {name}", { name: plainly(edited?.name ?? "") })} isOpen={!!edited} onClose={close}>
        {edited && <RouteForm route={edited === "new" ? undefined : edited} close={close} />}
      </Sheet>
    </section>
  );
}

/** What a route does, in a line. */
function aboutRoute({ target, least }: Route): string {
  const where = "mail" in target ? t("mail to {to}", { to: plainly(target.mail.to.join(", ")) })
    : "webhook" in target ? t("webhook at {host}", { host: plainly(target.webhook.url) })
    : target.syslog === "local" ? t("syslog of this machine") : t("syslog at {host}", { host: plainly(Object.values(target.syslog)[0] ?? "") });
  return t("{where}, from {severity} on", { where, severity: least });
}

function RouteRow({ status: { route, failure, queued }, edit }: { status: Status; edit: () => void }) {
  const { may } = useSession();
  const [isRemoved, setRemoved] = useState(false);
  const [typed, setTyped] = useState("");
  const path = { name: route.name };
  const test = useChange(() => post("/v1/alert-routes/{name}/test", { path }), PATHS);
  const change = useChange((disabled: boolean) => post("/v1/alert-routes/{name}/change", { path, body: { disabled, least: null, secret: null, target: null } }), PATHS);
  const remove = useChange(() => post("/v1/alert-routes/{name}/remove", { path }), PATHS);
  const name = plainly(route.name);
  return (
    <li className="stack tight">
      <div className="row">
        <strong><Name>{route.name}</Name></strong>
        <span className="muted">{aboutRoute(route)}</span>
        {route.disabled && <State tone="idle">{t("disabled")}</State>}
        {queued > 0 && <State tone="busy">{tn(queued, "{count} message waits", "{count} messages wait")}</State>}
        {may("administrator") && <Button aria-label={t("Send a trial by {name}", { name })} onPress={() => test.mutate(undefined)}>{t("Send a trial")}</Button>}
        {may("administrator") && (
          <Deeds label={t("Actions of route {name}", { name })} deeds={[
            { id: "change", name: t("Change…"), run: edit },
            { id: "able", name: route.disabled ? t("Enable") : t("Disable"), run: () => change.mutate(!route.disabled) },
            { id: "remove", name: t("Remove…"), isDangerous: true, run: () => setRemoved(true) },
          ]} />
        )}
        {test.data && <span role="status"><State tone={test.data.failure ? "bad" : "good"}>{test.data.failure ? plainly(test.data.failure) : t("It was taken")}</State></span>}
      </div>
      {failure && <p className="note warn small">{t("The last message did not arrive {when}: {why}", { when: ago(failure.at), why: plainly(failure.why) })}</p>}
      <Failure error={test.error ?? change.error} />
      <Sheet title={t("Remove {name}?", { name })} isOpen={isRemoved} onClose={() => setRemoved(false)} isAlert>
        <Form action={t("Remove")} isDangerous isDisabled={typed !== route.name} onCancel={() => setRemoved(false)} onDone={() => setRemoved(false)} run={() => remove.mutateAsync(undefined)}>
          <p>{t("Nobody is told by it any more, and what waits for it is not told.")}</p>
          <NameTyped name={route.name} value={typed} onChange={setTyped} />
        </Form>
      </Sheet>
    </li>
  );
}

interface Draft {
  way: Way;
  to: string;
  from: string;
  server: string;
  port: string;
  tls: Schemas["MailTls"];
  user: string;
  url: string;
  form: Schemas["WebhookForm"];
  template: string;
  syslog: "local" | "udp" | "tcp";
  host: string;
}

function draftOf(target?: Route["target"]): Draft {
  const draft: Draft = { way: "mail", to: "", from: "", server: "", port: "", tls: "starttls", user: "", url: "", form: "json", template: "", syslog: "local", host: "" };
  if (!target) return draft;
  if ("mail" in target) {
    const { to, from, server, port, tls, user } = target.mail;
    return { ...draft, to: to.join("\n"), from, server, port: port == null ? "" : String(port), tls, user: user ?? "" };
  }
  if ("webhook" in target) return { ...draft, way: "webhook", url: target.webhook.url, form: target.webhook.form, template: target.webhook.template ?? "" };
  if (target.syslog === "local") return { ...draft, way: "syslog" };
  const [[kind = "udp", host = ""] = []] = Object.entries(target.syslog);
  return { ...draft, way: "syslog", syslog: kind as "udp" | "tcp", host };
}

/** What is not in the form (whose certificates are believed) stays as it was. */
function targetOf(draft: Draft, was?: Route["target"]): Target {
  switch (draft.way) {
    case "mail": return { mail: { to: linesOf(draft.to), from: draft.from.trim(), server: draft.server.trim(), port: wholeOrNone(draft.port) ?? null, tls: draft.tls, user: draft.user.trim() || null, roots: was && "mail" in was ? was.mail.roots : null } };
    case "webhook": return { webhook: { url: draft.url.trim(), form: draft.form, template: draft.form === "template" ? draft.template : null, roots: was && "webhook" in was ? was.webhook.roots : null } };
    case "syslog": return { syslog: draft.syslog === "local" ? "local" : draft.syslog === "udp" ? { udp: draft.host.trim() } : { tcp: draft.host.trim() } };
  }
}

const severities = (): { id: Schemas["Severity"]; name: string }[] => [{ id: "warning", name: t("Warnings and worse") }, { id: "error", name: t("Errors and worse") }, { id: "critical", name: t("What is critical") }];
const forms = (): { id: Schemas["WebhookForm"]; name: string }[] => [
  { id: "json", name: t("Plain JSON") }, { id: "slack", name: t("Slack") }, { id: "mattermost", name: t("Mattermost") }, { id: "pagerduty", name: t("PagerDuty") }, { id: "ntfy", name: t("ntfy") }, { id: "template", name: t("A template") },
];

function RouteForm({ route, close }: { route: Route | undefined; close: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [least, setLeast] = useState<Schemas["Severity"]>(route?.least ?? "warning");
  const [secret, setSecret] = useState("");
  const [draft, setDraft] = useState(() => draftOf(route?.target));
  const set = (patch: Partial<Draft>) => setDraft({ ...draft, ...patch });
  const portFault = wholeOrNone(draft.port) === undefined ? t("A whole number.") : undefined;
  const run = async () => {
    const target = targetOf(draft, route?.target);
    if (route) await post("/v1/alert-routes/{name}/change", { path: { name: route.name }, body: { disabled: null, least, secret: secret || null, target } });
    else await post("/v1/alert-routes", { body: { name, disabled: false, least, secret: secret || null, target } });
    await renew(client, PATHS);
  };
  return (
    <Form action={route ? t("Save") : t("Create route")} isDisabled={(!route && !name) || !!portFault} onCancel={close} onDone={close} run={run}>
      {!route && <Field label={t("Name")} value={name} onChange={setName} spellCheck="false" autoFocus />}
      <Select label={t("Is told")} value={least} onChange={setLeast} options={severities()} />
      {!route && <Select label={t("By")} value={draft.way} onChange={(way) => set({ way })} options={[{ id: "mail", name: t("Mail") }, { id: "webhook", name: t("Webhook") }, { id: "syslog", name: t("Syslog") }]} />}
      {draft.way === "mail" && (
        <>
          <Field isLong label={t("To, one a line")} value={draft.to} onChange={(to) => set({ to })} spellCheck="false" />
          <Field label={t("From")} value={draft.from} onChange={(from) => set({ from })} spellCheck="false" />
          <div className="row base">
            <Field label={t("Server")} value={draft.server} onChange={(server) => set({ server })} spellCheck="false" />
            <Field isNarrow label={t("Port")} value={draft.port} onChange={(port) => set({ port })} inputMode="numeric" fault={portFault} />
            <Select label={t("Encryption")} value={draft.tls} onChange={(tls) => set({ tls })} options={[{ id: "starttls", name: t("STARTTLS") }, { id: "tls", name: t("TLS") }, { id: "none", name: t("None") }]} />
          </div>
          <Field label={t("Logs in as")} value={draft.user} onChange={(user) => set({ user })} spellCheck="false" description={t("Empty: it does not log in.")} />
        </>
      )}
      {draft.way === "webhook" && (
        <>
          <Field label={t("Address (URL)")} value={draft.url} onChange={(url) => set({ url })} spellCheck="false" />
          <Select label={t("Form")} value={draft.form} onChange={(form) => set({ form })} options={forms()} />
          {draft.form === "template" && <Field isLong label={t("Template")} value={draft.template} onChange={(template) => set({ template })} spellCheck="false" description={t("JSON with names of fields in braces: title, text, advice, severity, subject, turn, host, key, time.")} />}
        </>
      )}
      {draft.way === "syslog" && (
        <>
          <Select label={t("Where")} value={draft.syslog} onChange={(syslog) => set({ syslog })} options={[{ id: "local", name: t("This machine") }, { id: "udp", name: t("A host, by UDP") }, { id: "tcp", name: t("A host, by TCP") }]} />
          {draft.syslog !== "local" && <Field label={t("Host")} value={draft.host} onChange={(host) => set({ host })} spellCheck="false" description={t("HOST:PORT")} />}
        </>
      )}
      {draft.way !== "syslog" && <Field label={draft.way === "mail" ? t("Password") : t("Key or token")} type="password" value={secret} onChange={setSecret} autoComplete="new-password" description={route?.has_secret ? t("Empty: as it is") : undefined} />}
    </Form>
  );
}

