/** For who is not in: signing in, and the first start, where the code that the daemon printed makes the first administrator. */
import { useState } from "react";
import { useLocation } from "wouter";
import { post } from "../api/client";
import { useSession } from "../api/session";
import { SignIn } from "../parts/signin";
import { Field, Form } from "../parts/ui";
import { t } from "../words";

/** As the API wants it of a password. */
const LEAST = 10;

export function Door() {
  const [path, go] = useLocation();
  const { begin } = useSession();
  const isClaim = path === "/claim";
  return (
    <main className="door" id="main">
      <div className="card stack">
        <h1>{isClaim ? t("Set up this appliance") : t("Sign in to Cistern")}</h1>
        {isClaim ? <Claim onIn={() => go("/setup")} /> : <SignIn onIn={begin} />}
        <p className="small muted">
          {isClaim
            ? <a href="#/" onClick={(event) => { event.preventDefault(); go("/"); }}>{t("There is an account already: sign in")}</a>
            : <a href="#/claim" onClick={(event) => { event.preventDefault(); go("/claim"); }}>{t("New appliance? Set it up with its one-time code")}</a>}
        </p>
      </div>
    </main>
  );
}

function Claim({ onIn }: { onIn: () => void }) {
  const { begin } = useSession();
  const [code, setCode] = useState("");
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [again, setAgain] = useState("");
  const isOther = again !== "" && again !== password;
  const isShort = password !== "" && password.length < LEAST;
  const claim = async () => {
    await post("/v1/first-administrator", { body: { code: code.trim(), name, password } });
    const { me } = await post("/v1/login", { body: { name, password } as never });
    onIn();
    begin(me);
  };
  return (
    <Form action={t("Create administrator")} isDisabled={!code || !name || password.length < LEAST || again !== password} run={claim}>
      <p>{t("The daemon printed a code when it started. It makes the first administrator, once.")}</p>
      <Field label={t("One-time code")} value={code} onChange={setCode} autoComplete="off" spellCheck="false" placeholder={t("XXXXX-XXXXX-XXXXX-XXXXX")} autoFocus />
      <Field label={t("Name of your account")} value={name} onChange={setName} autoComplete="username" spellCheck="false" />
      <Field label={t("Password")} value={password} onChange={setPassword} type="password" autoComplete="new-password"
        fault={isShort ? t("At least {count} characters.", { count: LEAST }) : undefined} />
      <Field label={t("Password again")} value={again} onChange={setAgain} type="password" autoComplete="new-password"
        fault={isOther ? t("It is not the same.") : undefined} />
    </Form>
  );
}
