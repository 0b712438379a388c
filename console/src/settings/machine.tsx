/** The machine: its certificate, which clock services go by, what is logged, and where copies of its state go. */
import { useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { post, type Schemas } from "../api/client";
import { renew, useChange, useRead } from "../api/queries";
import { linesOf } from "../parts/amounts";
import { Button, Check, Failure, Field, Form, Loaded, NameTyped, Select, Sheet, State } from "../parts/ui";
import { ago, exactTime, plainly, size, t, tn } from "../words";

interface Rights {
  mayChange: boolean;
}

export function Certificate({ mayChange }: Rights) {
  const certificate = useRead("/v1/certificate");
  const acme = useRead("/v1/certificate/acme");
  const [asked, ask] = useState<"own" | "acme">();
  const off = useChange(() => post("/v1/certificate/acme/off"), ["/v1/certificate"]);
  const close = () => ask(undefined);
  return (
    <section className="card stack" aria-labelledby="certificate">
      <h2 id="certificate">{t("Certificate of HTTPS")}</h2>
      <Loaded of={certificate}>
        {({ value }) => (
          <dl className="facts">
            <dt>{t("For")}</dt><dd>{plainly(value.names.join(", "))}</dd>
            <dt>{t("Signed by")}</dt><dd>{value.self_signed ? t("itself") : plainly(value.issuer)}</dd>
            <dt>{t("Valid until")}</dt><dd>{t("{time}, {when}", { time: exactTime(value.not_after), when: ago(value.not_after) })}</dd>
            <dt>{t("Fingerprint")}</dt><dd className="mono small">{value.fingerprint}</dd>
          </dl>
        )}
      </Loaded>
      <Loaded of={acme}>
        {({ value }) => value.acme && (
          <div className="note stack tight">
            <p>{t("Certificates for {names} come from {directory}.", { names: plainly(value.acme.domains.join(", ")), directory: plainly(value.acme.directory) })}</p>
            <p className="small">{value.acme.is_asking ? t("It is being asked now.") : t("It is asked next {when}.", { when: ago(value.acme.next) })}</p>
            {value.acme.failure && <p className="fault">{plainly(value.acme.failure.why)}</p>}
          </div>
        )}
      </Loaded>
      <Failure error={off.error} />
      {mayChange && (
        <div className="row">
          <Button onPress={() => ask("own")}>{t("Use one of your own…")}</Button>
          <Button onPress={() => ask("acme")}>{t("Have them from an authority…")}</Button>
          {acme.data?.value.acme && <Button onPress={() => off.mutate(undefined)}>{t("No more from the authority")}</Button>}
        </div>
      )}
      <Sheet title={t("A certificate of your own")} isOpen={asked === "own"} onClose={close} isWide><OwnCertificate close={close} /></Sheet>
      <Sheet title={t("Certificates from an authority")} isOpen={asked === "acme"} onClose={close}><Authority close={close} /></Sheet>
    </section>
  );
}

function OwnCertificate({ close }: { close: () => void }) {
  const client = useQueryClient();
  const [certificate, setCertificate] = useState("");
  const [key, setKey] = useState("");
  const run = async () => {
    await post("/v1/certificate", { body: { certificate, key } });
    await renew(client, ["/v1/certificate"]);
  };
  return (
    <Form action={t("Use it")} isDisabled={!certificate || !key} onCancel={close} onDone={close} run={run}>
      <p>{t("It counts for new connections at once. Your browser may ask whether it is to be believed.")}</p>
      <Field isLong label={t("Certificate, and those that lead to a root (PEM)")} value={certificate} onChange={setCertificate} spellCheck="false" />
      <Field isLong label={t("Its private key (PEM)")} value={key} onChange={setKey} spellCheck="false" autoComplete="off" />
    </Form>
  );
}

function Authority({ close }: { close: () => void }) {
  const client = useQueryClient();
  const [domains, setDomains] = useState("");
  const [email, setEmail] = useState("");
  const [directory, setDirectory] = useState("");
  const [roots, setRoots] = useState("");
  const [agrees, agree] = useState(false);
  const run = async () => {
    await post("/v1/certificate/acme", { body: { domains: linesOf(domains), email: email.trim() || null, directory: directory.trim() || null, roots: roots.trim() || null, agree_terms: agrees } });
    await renew(client, ["/v1/certificate"]);
  };
  return (
    <Form action={t("Ask it")} isDisabled={!agrees || linesOf(domains).length === 0} onCancel={close} onDone={close} run={run}>
      <p>{t("The authority connects to port 443 of each name, which has to lead to the HTTPS of this appliance.")}</p>
      <Field isLong label={t("Names, one a line")} value={domains} onChange={setDomains} spellCheck="false" />
      <Field label={t("Mail address")} value={email} onChange={setEmail} spellCheck="false" description={t("Where it writes to about certificates.")} />
      <Field label={t("Its directory (URL)")} value={directory} onChange={setDirectory} spellCheck="false" description={t("Empty: that of Let's Encrypt.")} />
      {directory && <Field isLong label={t("Whose certificates it may show (PEM)")} value={roots} onChange={setRoots} spellCheck="false" description={t("Empty: those that this machine trusts.")} />}
      <Check isSelected={agrees} onChange={agree}>{t("I agree to its terms of service")}</Check>
    </Form>
  );
}

export function Clock({ mayChange }: Rights) {
  const clock = useRead("/v1/service-clock", {}, { refetchInterval: 30_000 });
  const agree = useChange(() => post("/v1/service-clock/agree"), ["/v1/service-clock", "/v1/services"]);
  return (
    <section className="card stack" aria-labelledby="clock">
      <h2 id="clock">{t("Clock")}</h2>
      <Loaded of={clock}>
        {({ value: { believed, dispute } }) => dispute === null ? <p>{t("Services go by the machine's clock: {time}.", { time: exactTime(believed) })}</p> : (
          <div className="note warn stack tight">
            <p>{t("The machine's clock leapt, and is not believed. It says {wall}; services go by {time}.", { wall: exactTime(dispute.wall), time: exactTime(believed) })}</p>
            <p>{dispute.agrees_at === null ? t("It is believed when an administrator says that it is right.") : t("It is believed {when}, if it does not leap again.", { when: ago(dispute.agrees_at, believed) })}</p>
            {mayChange && <div className="row"><Button onPress={() => agree.mutate(undefined)}>{t("The machine's clock is right")}</Button></div>}
          </div>
        )}
      </Loaded>
      <Failure error={agree.error} />
      <p className="small muted">{t("Name and time zone are those of the machine, and are set there.")}</p>
    </section>
  );
}

export function Logging({ mayChange }: Rights) {
  const log = useRead("/v1/log", {}, { staleTime: 0 });
  return (
    <section className="card stack" aria-labelledby="logging">
      <h2 id="logging">{t("What the daemon logs")}</h2>
      <Loaded of={log}>{({ value }) => <LogForm key={value.filter} filter={value.filter} mayChange={mayChange} />}</Loaded>
    </section>
  );
}

function LogForm({ filter, mayChange }: Rights & { filter: string }) {
  const client = useQueryClient();
  const [text, setText] = useState(filter);
  const run = async () => {
    await post("/v1/log", { body: { filter: text } });
    await renew(client, ["/v1/log"]);
  };
  return (
    <Form action={t("Save log level")} isDisabled={!mayChange || !text || text === filter} run={run}>
      <Field label={t("Level")} value={text} onChange={setText} isReadOnly={!mayChange} spellCheck="false" description={t("error, warn, info, debug or trace, and others for parts: info,nfs=debug. It holds until the daemon ends.")} />
    </Form>
  );
}

const NOWHERE = "";

export function Copies({ mayChange }: Rights) {
  const keeping = useRead("/v1/machine/keeping");
  const pools = useRead("/v1/pools");
  const [asked, ask] = useState<"pool" | "restore">();
  const [made, setMade] = useState<string>();
  const backup = useChange(() => post("/v1/machine/backup"), ["/v1/machine"]);
  const cancel = useChange(() => post("/v1/machine/restore/cancel"), ["/v1/machine"]);
  const close = () => ask(undefined);
  return (
    <section className="card stack" aria-labelledby="copies">
      <h2 id="copies">{t("Copies of the machine's state")}</h2>
      <p className="small muted">{t("Accounts, tokens, the audit log, settings and what services remember.")}</p>
      <Loaded of={keeping}>
        {({ value }) => (
          <>
            <p>{value.pool === null ? t("No pool keeps copies: if the system disk dies, they are gone.") : `${t("Kept in pool {name}", { name: plainly(value.pool) })}: ${tn(value.versions, "{count} version, {size}", "{count} versions, {size}", { size: size(value.bytes) })}`}</p>
            {value.newest && <p className="muted">{t("The newest is of {time}, {when}.", { time: exactTime(value.newest.time), when: ago(value.newest.time) })}</p>}
            {value.failure && <p className="note bad">{t("The last one was not written: {why}", { why: plainly(value.failure.problem.detail) })}</p>}
            {value.staged && <p className="note warn">{t("The next start of the daemon puts version {number} of {time} in place.", { number: value.staged.number, time: exactTime(value.staged.time) })}</p>}
            {mayChange && (
              <div className="row">
                <Button onPress={() => ask("pool")}>{t("Keep them in…")}</Button>
                <Button onPress={() => backup.mutate(undefined, { onSuccess: ({ path }) => setMade(path) })}>{t("Copy to a file now")}</Button>
                {value.staged ? <Button onPress={() => cancel.mutate(undefined)}>{t("Restore nothing")}</Button> : value.pool !== null && <Button manner="danger" onPress={() => ask("restore")}>{t("Restore…")}</Button>}
              </div>
            )}
            {made && <p role="status"><State tone="good">{t("Copied to {path}", { path: plainly(made) })}</State></p>}
            <Failure error={backup.error ?? cancel.error} />
            <Sheet title={t("Where copies are kept")} isOpen={asked === "pool"} onClose={close}><KeepForm pool={value.pool} pools={(pools.data?.value ?? []).map(({ name }) => name)} close={close} /></Sheet>
            <Sheet title={t("Restore the machine's state?")} isOpen={asked === "restore"} onClose={close} isAlert>{value.pool !== null && <Restore pool={value.pool} close={close} />}</Sheet>
          </>
        )}
      </Loaded>
    </section>
  );
}

function KeepForm({ pool, pools, close }: { pool: string | null; pools: string[]; close: () => void }) {
  const client = useQueryClient();
  const [chosen, choose] = useState(pool ?? pools[0] ?? NOWHERE);
  const run = async () => {
    await post("/v1/machine/keeping", { body: { pool: chosen === NOWHERE ? null : chosen, history: `cistern machine keep ${chosen}` } });
    await renew(client, ["/v1/machine"]);
  };
  return (
    <Form action={t("Keep them there")} onCancel={close} onDone={close} run={run}>
      <Select label={t("Pool")} value={chosen} onChange={choose} options={[...pools.map((id) => ({ id, name: plainly(id) })), { id: NOWHERE, name: t("Nowhere") }]} />
      <p className="small muted">{t("A version is written soon after something changes. What is there already stays.")}</p>
    </Form>
  );
}

function Restore({ pool, close }: { pool: string; close: () => void }) {
  const client = useQueryClient();
  const versions = useRead("/v1/machine/versions", { query: { pool } as never });
  const [number, setNumber] = useState("");
  const [told, setTold] = useState<Schemas["StateRestored"]>();
  const [typed, setTyped] = useState("");
  const ask = (version: string, checksum: string | null) => post("/v1/machine/restore", { body: { pool, version: Number(version), time: null, checksum, dry_run: checksum === null } });
  const word = t("restore");
  return (
    <Loaded of={versions}>
      {({ value }) => {
        const chosen = number || String(value[0]?.number ?? "");
        if (value.length === 0) return <p className="muted">{t("No version is there yet.")}</p>;
        const run = async () => {
          if (!told) return setTold(await ask(chosen, null));
          await ask(chosen, told.checksum);
          await renew(client, ["/v1/machine"]);
          close();
        };
        return (
          <Form action={told ? t("Restore at the next start") : t("What would it change?")} isDangerous={!!told} isDisabled={!!told && typed !== word} onCancel={close} run={run}>
            <Select label={t("Version")} value={chosen} onChange={(next) => { setNumber(next); setTold(undefined); }} options={value.map((one) => ({ id: String(one.number), name: exactTime(one.time), about: size(one.size) }))} />
            {told && (
              <div className="note bad stack tight">
                <p>{tn(told.accounts.length, "{count} account comes, goes or changes, and all sessions end.", "{count} accounts come, go or change, and all sessions end.")}</p>
                <ul className="small">{told.accounts.slice(0, 8).map((one) => <li key={one.name}>{plainly(one.name)}</li>)}</ul>
                <p>{t("{come} tokens are valid again, {go} no more.", { come: told.tokens_come, go: told.tokens_go })}</p>
              </div>
            )}
            {told && <NameTyped name={word} value={typed} onChange={setTyped} />}
          </Form>
        );
      }}
    </Loaded>
  );
}
