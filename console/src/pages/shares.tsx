/** File systems that are shared by NFS, and which may be. */
import { useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { Link } from "wouter";
import { post, type Schemas } from "../api/client";
import { useDatasets } from "../api/datasets";
import { renew, useRead } from "../api/queries";
import { useSession } from "../api/session";
import { Button, Check, Empty, Field, Form, Head, Loaded, Name, Select, Sheet } from "../parts/ui";
import { Grid, type Column } from "../parts/grid";
import { plainly, t } from "../words";
import { placeOf } from "./datasets";

type Share = Schemas["Share"];

/** `sharenfs` of what the form says. */
export function optionsOf(from: string, mayWrite: boolean, mayRoot: boolean): string {
  const hosts = from.split(/[\s,]+/).filter(Boolean);
  const access = mayWrite ? "rw" : "ro";
  return [hosts.length > 0 ? `${access}=${hosts.join(":")}` : access, ...(mayRoot ? ["no_root_squash"] : [])].join(",");
}

export default function Shares() {
  const { may } = useSession();
  const shares = useRead("/v1/shares");
  const [edited, edit] = useState<Share | "new">();
  const [ended, end] = useState<Share>();
  const columns: Column<Share>[] = [
    { id: "dataset", name: t("File system"), width: "minmax(180px, 1.5fr)", show: (share) => <Link href={placeOf(share.dataset)} tabIndex={-1}><Name>{share.dataset}</Name></Link>, order: (a, b) => (a.dataset < b.dataset ? -1 : 1) },
    { id: "path", name: t("Clients mount"), width: "minmax(180px, 1.5fr)", show: ({ path }) => <span className="mono"><Name>{path}</Name></span> },
    { id: "options", name: t("Options"), width: "minmax(150px, 1.5fr)", show: ({ options }) => <span className="mono" title={plainly(options)}><Name>{options}</Name></span> },
    { id: "deeds", name: t("Change"), width: "170px", show: (share) => (
      <span className="row">
        <Button manner="quiet" excludeFromTabOrder onPress={() => edit(share)} isDisabled={!may("administrator")}>{t("Edit")}</Button>
        <Button manner="quiet" excludeFromTabOrder onPress={() => end(share)} isDisabled={!may("administrator")}>{t("Stop")}</Button>
      </span>
    ) },
  ];
  const close = () => edit(undefined);
  return (
    <div className="page">
      <Head title={t("Shares")} about={t("File systems that NFS clients may mount. A dataset below a shared one is shared with it, unless it says otherwise.")}>
        {may("administrator") && <Button manner="first" onPress={() => edit("new")}>{t("New share")}</Button>}
      </Head>
      <Loaded of={shares}>
        {({ value }) => <Grid label={t("Shares")} rows={value} columns={columns} keyOf={({ dataset }) => dataset} onOpen={(share) => may("administrator") && edit(share)} least={760} empty={<p>{t("Nothing is shared yet.")}</p>} />}
      </Loaded>
      <Sheet title={edited === "new" ? t("New share") : t("Share of {name}", { name: plainly(edited?.dataset ?? "") })} isOpen={!!edited} onClose={close}>
        {edited === "new" ? <NewShare close={close} /> : edited && <ShareForm dataset={edited.dataset} options={edited.options} close={close} />}
      </Sheet>
      <Sheet title={t("Stop sharing {name}?", { name: plainly(ended?.dataset ?? "") })} isOpen={!!ended} onClose={() => end(undefined)} isAlert>
        {ended && <Stop share={ended} close={() => end(undefined)} />}
      </Sheet>
    </div>
  );
}

function Stop({ share, close }: { share: Share; close: () => void }) {
  const client = useQueryClient();
  const run = async () => {
    const props = [{ name: "sharenfs", value: "off" }];
    await post("/v1/datasets/{name}/properties", { path: { name: share.dataset }, body: { props, no_mount: false, history: `zfs set sharenfs=off ${share.dataset}` } });
    await renew(client, ["/v1/shares", "/v1/datasets"]);
  };
  return (
    <Form action={t("Stop sharing")} isDangerous onCancel={close} onDone={close} run={run}>
      <p>{t("Clients that have it mounted get errors from now on. The files stay, and it can be shared again.")}</p>
    </Form>
  );
}

/** A new file system that is shared, or one that is there. */
function NewShare({ close }: { close: () => void }) {
  const { datasets, isWhole } = useDatasets("filesystem", "used");
  return (
    <Loaded of={datasets}>
      {({ value }) => (value.length === 0 ? <Empty>{t("There is no pool yet.")}</Empty> : <ShareForm parents={value.map(({ name }) => name)} isWhole={isWhole} close={close} />)}
    </Loaded>
  );
}

const HERE = "";

/** `isWhole`: all file systems are among the parents, so that another name is none. */
function ShareForm({ dataset, options, parents, isWhole = true, close }: { dataset?: string; options?: string; parents?: string[]; isWhole?: boolean; close: () => void }) {
  const client = useQueryClient();
  const [parent, setParent] = useState(parents?.[0] ?? "");
  const [isNew, setIsNew] = useState(parents ? "new" : "old");
  const [name, setName] = useState(HERE);
  const [from, setFrom] = useState("");
  const [mayWrite, setWrite] = useState(true);
  const [mayRoot, setRoot] = useState(false);
  const [text, setText] = useState(options ?? "");
  const value = dataset ? text : optionsOf(from, mayWrite, mayRoot);
  const run = async () => {
    const props = [{ name: "sharenfs", value }];
    if (!dataset && isNew === "new") {
      const full = `${parent}/${name}`;
      await post("/v1/datasets", { body: { name: full, props, parents: false, no_mount: false, sparse: false, volume: false, history: `zfs create -o sharenfs=${value} ${full}` } });
    } else {
      const which = dataset ?? parent;
      await post("/v1/datasets/{name}/properties", { path: { name: which }, body: { props, no_mount: false, history: `zfs set sharenfs=${value} ${which}` } });
    }
    await renew(client, ["/v1/shares", "/v1/datasets"]);
  };
  const isKnown = !isWhole || !!parents?.includes(parent);
  const lacks = !dataset && (!isKnown || (isNew === "new" && !name));
  return (
    <Form action={dataset ? t("Save") : t("Share")} isDisabled={lacks || !value} onCancel={close} onDone={close} run={run}>
      {dataset ? (
        <Field label={t("Options (sharenfs)")} value={text} onChange={setText} spellCheck="false" description={t("As exports(5) has them: rw=10.0.0.0/24:host, ro, no_root_squash.")} autoFocus />
      ) : (
        <>
          <Select label={t("Share")} value={isNew} onChange={setIsNew} options={[{ id: "new", name: t("A new file system") }, { id: "old", name: t("One that is there") }]} />
          <Field label={isNew === "new" ? t("In") : t("File system")} value={parent} onChange={setParent} names={parents ?? []} spellCheck="false" fault={isKnown ? undefined : t("No file system is called that.")} />
          {isNew === "new" && <Field label={t("Name")} value={name} onChange={setName} spellCheck="false" autoFocus />}
          <Field label={t("Clients")} value={from} onChange={setFrom} spellCheck="false" description={t("Hosts and networks, as 10.0.0.0/24; empty: all that reach this machine.")} />
          <Check isSelected={mayWrite} onChange={setWrite}>{t("They may write")}</Check>
          <Check isSelected={mayRoot} onChange={setRoot}>{t("Their root is root here (no_root_squash): needed to give the first files an owner")}</Check>
          <p className="small muted mono">{`sharenfs=${value}`}</p>
        </>
      )}
    </Form>
  );
}
