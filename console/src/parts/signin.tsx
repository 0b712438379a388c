/** The form that signs in: name, password and, where the account has one, a second factor. */
import { useState } from "react";
import { post, Refusal, setCsrf, type Schemas } from "../api/client";
import { Button, Field, Form } from "./ui";
import { t } from "../words";

type Factors = Schemas["SecondFactors"];

/** What the browser makes of a key, as the API takes it. */
async function touched(options: Factors["key"]): Promise<Schemas["LogIn"]["assertion"]> {
  const asked = options as { publicKey?: unknown } | null;
  const parsed = PublicKeyCredential.parseRequestOptionsFromJSON((asked?.publicKey ?? asked) as never);
  const credential = await navigator.credentials.get({ publicKey: parsed });
  return (credential as PublicKeyCredential).toJSON() as never;
}

export function SignIn({ name: fixed, onIn }: { name?: string | undefined; onIn: (me: Schemas["Me"]) => void }) {
  const [name, setName] = useState(fixed ?? "");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState("");
  const [factors, setFactors] = useState<Factors | null>(null);
  const logIn = async (more: Partial<Schemas["LogIn"]>) => {
    try {
      const { csrf, me } = await post("/v1/login", { body: { name, password, ...more } as Schemas["LogIn"] });
      setCsrf(csrf);
      onIn(me);
    } catch (error) {
      const wanted = error instanceof Refusal ? error.problem.second_factors : null;
      if (!wanted || factors) throw error;
      setFactors(wanted);
    }
  };
  const isReady = name !== "" && password !== "" && (!factors || code !== "");
  return (
    <Form action={factors ? t("Continue") : t("Sign in")} isDisabled={!isReady} run={() => logIn(factors ? { second: code } : {})}>
      <Field label={t("Name")} value={name} onChange={setName} autoComplete="username" isReadOnly={fixed !== undefined} autoFocus={fixed === undefined} />
      <Field label={t("Password")} value={password} onChange={setPassword} type="password" autoComplete="current-password" autoFocus={fixed !== undefined} />
      {factors && (
        <Field
          label={t("Code")} value={code} onChange={setCode} autoComplete="one-time-code" autoFocus
          description={factors.totp ? t("Of your authenticator, or one of your recovery codes.") : t("One of your recovery codes.")}
        />
      )}
      {factors?.key && <Button onPress={() => void touched(factors.key).then((assertion) => logIn({ assertion }))}>{t("Use a security key")}</Button>}
    </Form>
  );
}
