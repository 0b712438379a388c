/** Who may see a volume by iSCSI, as what, and what they have to prove. */
import { useState } from "react";
import { Link } from "wouter";
import { post, type Schemas } from "../api/client";
import { useTagged } from "../api/tagged";
import { placeOf, valueOf } from "../pages/datasets";
import { Check, Failure, Field, Form } from "../parts/ui";
import { plainly, t } from "../words";
import { needsSecrets, PROPERTY, shownValue, valueOfView, viewOf, type View } from "./view";

type Volume = Schemas["DatasetInfo"];

/** As the API wants it of a secret. */
const LEAST = 12;

export function ViewForm({ volume, volumes, close }: { volume: Volume; volumes: Volume[]; close: () => void }) {
  const was = valueOf(volume, PROPERTY);
  const [view, setView] = useState<View>(() => viewOf(was));
  const tagged = useTagged(volume.name, PROPERTY, was);
  const set = (patch: Partial<View>) => setView({ ...view, ...patch });
  const others = volumes.filter(({ name }) => name !== volume.name).map((one) => valueOf(one, PROPERTY));
  const targets = [...new Set(others.map((value) => viewOf(value).target).filter(Boolean))];
  const isShort = (secret: string, had: boolean, user: string) => user !== "" && (secret ? secret.length < LEAST : !had);
  const secretFault = (secret: string) => (secret && secret.length < LEAST ? t("At least {count} characters.", { count: LEAST }) : undefined);
  const isWrong = view.isServed && (isShort(view.secret, view.hadSecret, view.user) || isShort(view.mutualSecret, view.hadMutual, view.mutualUser));
  const run = async () => {
    // A secret that stays is asked for, and sent back; the audit log has who did.
    const old = needsSecrets(view) ? (await post("/v1/datasets/secrets", { body: { roots: volume.name, depth: 0, props: PROPERTY } as never })).find(({ name }) => name === volume.name) : undefined;
    await tagged.set({ [PROPERTY]: valueOfView(view, others, old ? valueOf(old, PROPERTY) : "") });
  };
  return (
    <Form action={t("Save")} isDisabled={!tagged.isReady || isWrong} onCancel={close} onDone={close} run={run}>
      <Check isSelected={view.isServed} onChange={(isServed) => set({ isServed })}>{t("Served by iSCSI")}</Check>
      {!view.isServed && viewOf(was).isServed && <p className="note warn">{t("Initiators that use it lose it at once. What is on it stays.")}</p>}
      {view.isServed && (
        <>
          <div className="row base wide-first">
            <Field label={t("Target")} value={view.target} onChange={(target) => set({ target })} names={targets} spellCheck="false" description={t("As iqn.2026-01.org.example:vms. Empty: one of its own.")} />
            {view.target && <Field isNarrow label={t("LUN")} value={view.lun} onChange={(lun) => set({ lun })} inputMode="numeric" description={t("Empty: any")} />}
          </div>
          <Field isLong label={t("Initiators that may see it, one a line")} value={view.initiators} onChange={(initiators) => set({ initiators })} spellCheck="false" description={t("Empty: everybody that reaches the target.")} />
          <Field label={t("Portal groups")} value={view.groups} onChange={(groups) => set({ groups })} spellCheck="false" description={t("As 1, 2. Empty: all. All volumes of a target say the same.")} />
          <div className="row base">
            <Field label={t("User that an initiator proves to be (CHAP)")} value={view.user} onChange={(user) => set({ user })} spellCheck="false" autoComplete="off" />
            {view.user && <Field label={t("Secret")} type="password" value={view.secret} onChange={(secret) => set({ secret })} autoComplete="new-password" fault={secretFault(view.secret)} description={view.hadSecret ? t("Empty: as it is") : undefined} />}
          </div>
          {view.user && (
            <div className="row base">
              <Field label={t("User that the target proves to be")} value={view.mutualUser} onChange={(mutualUser) => set({ mutualUser })} spellCheck="false" autoComplete="off" />
              {view.mutualUser && <Field label={t("Secret of the target")} type="password" value={view.mutualSecret} onChange={(mutualSecret) => set({ mutualSecret })} autoComplete="new-password" fault={secretFault(view.mutualSecret)} description={view.hadMutual ? t("Empty: as it is") : undefined} />}
            </div>
          )}
        </>
      )}
      {tagged.theirs && <p className="note warn">{t("Meanwhile it was set to {value}.", { value: plainly(shownValue(tagged.theirs.value)) })}</p>}
      <Failure error={tagged.failure} />
      <p className="small"><Link href={placeOf(volume.name)}>{t("All properties of {name}", { name: plainly(volume.name) })}</Link></p>
    </Form>
  );
}
