/** Accounts, tokens and sessions: all of them for an administrator, one's own for everybody. */
import { useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { Tab, TabList, TabPanel, Tabs } from "react-aria-components/Tabs";
import { post, type Schemas } from "../api/client";
import { renew, useChange, useRead } from "../api/queries";
import { useMe, useSession } from "../api/session";
import { Button, Check, Failure, Field, Form, Head, Loaded, Name, NameTyped, Select, Sheet, State } from "../parts/ui";
import { Grid, type Column } from "../parts/grid";
import { ago, exactTime, plainly, t } from "../words";

type User = Schemas["User"];
type Token = Schemas["Token"];
type Role = Schemas["Role"];

const roles = () => [
  { id: "read-only" as Role, name: t("Read-only"), about: t("Sees all but accounts and secrets") },
  { id: "operator" as Role, name: t("Operator"), about: t("And does the daily work: snapshots, scrubs, shares, services") },
  { id: "administrator" as Role, name: t("Administrator"), about: t("Does everything") },
];

export default function Users() {
  const { may } = useSession();
  const isAll = may("administrator");
  return (
    <div className="page">
      <Head title={t("Users and tokens")} about={isAll ? t("Who may come in, by password or by token.") : t("Your account and your tokens.")} />
      <Tabs className="tabs">
        <TabList aria-label={t("Users and tokens")}>
          {isAll && <Tab id="users">{t("Users")}</Tab>}
          <Tab id="tokens">{t("Tokens")}</Tab>
          <Tab id="sessions">{t("Sessions")}</Tab>
          <Tab id="own">{t("My password")}</Tab>
        </TabList>
        {isAll && <TabPanel id="users" className="stack"><UserList /></TabPanel>}
        <TabPanel id="tokens" className="stack"><TokenList /></TabPanel>
        <TabPanel id="sessions" className="stack"><SessionList /></TabPanel>
        <TabPanel id="own"><OwnPassword /></TabPanel>
      </Tabs>
    </div>
  );
}

function UserList() {
  const users = useRead("/v1/users");
  const [isNew, setNew] = useState(false);
  const [opened, open] = useState<User>();
  const columns: Column<User>[] = [
    { id: "name", name: t("Name"), width: "minmax(160px, 1.5fr)", show: ({ name }) => <Name>{name}</Name>, order: (a, b) => (a.name < b.name ? -1 : 1) },
    { id: "role", name: t("Role"), width: "140px", show: ({ role }) => role },
    { id: "state", name: t("State"), width: "120px", show: ({ disabled }) => <State tone={disabled ? "idle" : "good"}>{disabled ? t("disabled") : t("enabled")}</State> },
    { id: "second", name: t("Second factor"), width: "minmax(140px, 1fr)", show: (one) => [one.has_totp && t("codes"), one.has_keys && t("keys")].filter(Boolean).join(", ") || t("none") },
    { id: "last", name: t("Last signed in"), width: "160px", show: ({ last_login }) => (last_login == null ? t("never") : ago(last_login)) },
    { id: "uid", name: t("Number"), width: "125px", isNumber: true, show: ({ uid }) => uid },
  ];
  return (
    <>
      <div className="row"><Button manner="first" onPress={() => setNew(true)}>{t("New user")}</Button></div>
      <Loaded of={users}>{({ value }) => <Grid label={t("Users")} rows={value} columns={columns} keyOf={({ name }) => name} onOpen={open} least={820} empty={<p>{t("There is no user.")}</p>} />}</Loaded>
      <Sheet title={t("New user")} isOpen={isNew} onClose={() => setNew(false)}><NewUser close={() => setNew(false)} /></Sheet>
      <Sheet title={t("User {name}", { name: plainly(opened?.name ?? "") })} isOpen={!!opened} onClose={() => open(undefined)}>{opened && <UserForm user={opened} close={() => open(undefined)} />}</Sheet>
    </>
  );
}

function NewUser({ close }: { close: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [role, setRole] = useState<Role>("read-only");
  const run = async () => {
    await post("/v1/users", { body: { name, password, role, uid: null } as never });
    await renew(client, ["/v1/users"]);
  };
  return (
    <Form action={t("Create user")} isDisabled={!name || !password} onCancel={close} onDone={close} run={run}>
      <Field label={t("Name")} value={name} onChange={setName} autoComplete="off" spellCheck="false" autoFocus />
      <Field label={t("Password")} value={password} onChange={setPassword} type="password" autoComplete="new-password" description={t("They can choose another one once they are in.")} />
      <Select label={t("Role")} value={role} onChange={setRole} options={roles()} />
    </Form>
  );
}

function UserForm({ user, close }: { user: User; close: () => void }) {
  const me = useMe();
  const client = useQueryClient();
  const [role, setRole] = useState<Role>(user.role);
  const [isDisabled, setDisabled] = useState(user.disabled);
  const [password, setPassword] = useState("");
  const [own, setOwn] = useState("");
  const [isRemoved, setRemoved] = useState(false);
  const [typed, setTyped] = useState("");
  const path = { name: user.name };
  const isOwn = me.name === user.name;
  const done = () => void renew(client, ["/v1/users", "/v1/sessions", "/v1/tokens"]);
  const save = async () => {
    const body = { ...(role === user.role ? {} : { role }), ...(isDisabled === user.disabled ? {} : { disabled: isDisabled }), ...(password ? { password } : {}), ...(isOwn ? { old_password: own } : {}) };
    await post("/v1/users/{name}/change", { path, body: body as never });
    done();
  };
  const remove = async () => {
    await post("/v1/users/{name}/remove", { path });
    done();
  };
  if (isRemoved) {
    return (
      <Form action={t("Remove user")} isDangerous isDisabled={typed !== user.name} onCancel={() => setRemoved(false)} onDone={close} run={remove}>
        <p className="note bad">{t("The account goes with its sessions and tokens. What it has made stays.")}</p>
        <NameTyped name={user.name} value={typed} onChange={setTyped} />
      </Form>
    );
  }
  return (
    <Form action={t("Save")} isDisabled={(role === user.role && isDisabled === user.disabled && !password) || (isOwn && !own)} onCancel={close} onDone={close} run={save}>
      <Select label={t("Role")} value={role} onChange={setRole} options={roles()} description={t("Another role ends the sessions of the account.")} />
      <Check isSelected={isDisabled} onChange={setDisabled}>{t("Disabled: it cannot come in")}</Check>
      <Field label={t("New password")} value={password} onChange={setPassword} type="password" autoComplete="new-password" description={t("Left empty, it stays.")} />
      {isOwn && <Field label={t("Your password now")} value={own} onChange={setOwn} type="password" autoComplete="current-password" />}
      {!isOwn && <div className="row"><Button manner="danger" onPress={() => setRemoved(true)}>{t("Remove…")}</Button></div>}
    </Form>
  );
}

const DAY = 86400;

function TokenList() {
  const tokens = useRead("/v1/tokens");
  const [isNew, setNew] = useState(false);
  const remove = useChange((id: number) => post("/v1/tokens/{id}/remove", { path: { id } }), ["/v1/tokens"]);
  const [removed, setRemoved] = useState<Token>();
  const columns: Column<Token>[] = [
    { id: "name", name: t("Name"), width: "minmax(150px, 1.5fr)", show: ({ name }) => <Name>{name}</Name> },
    { id: "user", name: t("Of"), width: "minmax(110px, 1fr)", show: ({ user }) => <Name>{user}</Name> },
    { id: "role", name: t("Role"), width: "120px", show: ({ role }) => role },
    { id: "dataset", name: t("Held to"), width: "minmax(120px, 1fr)", show: ({ dataset }) => (dataset ? <Name>{dataset}</Name> : "–") },
    { id: "expires", name: t("Ends"), width: "120px", show: ({ expires }) => (expires == null ? t("never") : ago(expires)) },
    { id: "used", name: t("Last used"), width: "120px", show: ({ last_used }) => (last_used == null ? t("never") : ago(last_used)) },
    { id: "remove", name: t("Remove"), width: "95px", show: (one) => <Button manner="quiet" excludeFromTabOrder onPress={() => setRemoved(one)}>{t("Remove")}</Button> },
  ];
  return (
    <>
      <div className="row"><Button manner="first" onPress={() => setNew(true)}>{t("New token")}</Button></div>
      <Failure error={remove.error} />
      <Loaded of={tokens}>{({ value }) => <Grid label={t("Tokens")} rows={value} columns={columns} keyOf={({ id }) => String(id)} onOpen={setRemoved} least={840} empty={<p>{t("There is no token yet. Programs come in by tokens.")}</p>} />}</Loaded>
      <Sheet title={t("New token")} isOpen={isNew} onClose={() => setNew(false)} isFixed><NewToken close={() => setNew(false)} /></Sheet>
      <Sheet title={t("Remove token {name}?", { name: plainly(removed?.name ?? "") })} isOpen={!!removed} onClose={() => setRemoved(undefined)} isAlert>
        <Form action={t("Remove token")} isDangerous onCancel={() => setRemoved(undefined)} onDone={() => setRemoved(undefined)} run={() => remove.mutateAsync(removed!.id)}><p>{t("Programs that use it are refused from now on.")}</p></Form>
      </Sheet>
    </>
  );
}

function NewToken({ close }: { close: () => void }) {
  const client = useQueryClient();
  const { may } = useSession();
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("read-only");
  const [dataset, setDataset] = useState("");
  const [days, setDays] = useState("365");
  const [secret, setSecret] = useState("");
  const count = Number(days);
  const run = async () => {
    const expires = days === "0" ? null : Math.floor(Date.now() / 1000) + count * DAY;
    const made = await post("/v1/tokens", { body: { name, role, dataset: dataset || null, expires, user: null } });
    setSecret(made.secret);
    await renew(client, ["/v1/tokens"]);
  };
  if (secret) {
    return (
      <>
        <p>{t("This is the token. It is shown once: copy it now.")}</p>
        <p className="secret" aria-label={t("The token")}>{secret}</p>
        <div className="row end"><Button onPress={() => void navigator.clipboard.writeText(secret)}>{t("Copy")}</Button><Button manner="first" onPress={close}>{t("I have it")}</Button></div>
      </>
    );
  }
  return (
    <Form action={t("Create token")} isDisabled={!name || !Number.isInteger(count) || count < 0} onCancel={close} run={run}>
      <Field label={t("Name")} value={name} onChange={setName} description={t("What it is for")} spellCheck="false" autoFocus />
      <Select label={t("Role")} value={role} onChange={setRole} options={roles().filter(({ id }) => may(id))} />
      <Field label={t("Only for this dataset")} value={dataset} onChange={setDataset} spellCheck="false" description={t("And what is below it. Empty: for all.")} />
      <Field label={t("Ends after days")} value={days} onChange={setDays} inputMode="numeric" description={t("0: never")} fault={Number.isInteger(count) && count >= 0 ? undefined : t("A whole number of days.")} />
    </Form>
  );
}

function SessionList() {
  const sessions = useRead("/v1/sessions");
  const end = useChange((id: number) => post("/v1/sessions/{id}/end", { path: { id } }), ["/v1/sessions"]);
  return (
    <Loaded of={sessions}>
      {({ value }) => (
        <div className="scroll-x">
          <Failure error={end.error} />
          <table className="plain">
            <thead><tr><th scope="col">{t("User")}</th><th scope="col">{t("From")}</th><th scope="col">{t("Since")}</th><th scope="col">{t("Last seen")}</th><th scope="col">{t("End")}</th></tr></thead>
            <tbody>
              {value.map((one) => (
                <tr key={one.id}><td><Name>{one.user}</Name></td><td className="mono">{one.address}</td><td>{exactTime(one.created)}</td><td>{ago(one.seen)}</td>
                  <td><Button aria-label={t("End the session of {name} from {address}", { name: plainly(one.user), address: one.address })} onPress={() => end.mutate(one.id)}>{t("End")}</Button></td></tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Loaded>
  );
}

function OwnPassword() {
  const me = useMe();
  const [old, setOld] = useState("");
  const [next, setNext] = useState("");
  const [again, setAgain] = useState("");
  const [keeps, keep] = useState(true);
  const change = () => post("/v1/users/{name}/change", { path: { name: me.name ?? "" }, body: { old_password: old, password: next, keep_tokens: keeps } as never });
  return (
    <div className="card">
      <Form action={t("Change password")} isDisabled={!old || !next || next !== again} run={change} onDone={() => location.reload()}>
        <Field label={t("Your password now")} value={old} onChange={setOld} type="password" autoComplete="current-password" />
        <Field label={t("New password")} value={next} onChange={setNext} type="password" autoComplete="new-password" description={t("It ends all your sessions: you sign in anew.")} />
        <Field label={t("New password again")} value={again} onChange={setAgain} type="password" autoComplete="new-password" fault={again && again !== next ? t("It is not the same.") : undefined} />
        <Check isSelected={keeps} onChange={keep}>{t("Keep my tokens")}</Check>
      </Form>
    </div>
  );
}
