/**
 * Services are made and changed here. One that is made waits, disabled, until somebody has seen what it would do: the
 * engine plans for what is there, and for nothing else.
 */
import { useEffect, useState, type ReactNode } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { get, post, Refusal, type Schemas } from "../api/client";
import { renew } from "../api/queries";
import { Failure, Field, Form, Select } from "../parts/ui";
import { aboutOf } from "../parts/schedules";
import { plainly, t } from "../words";
import { draftOf, newDraft, specOf, type Draft, type Faults, type Kind, type Spec } from "./draft";
import { faultsOf } from "./faults";
import { Fields, type Editor } from "./fields";
import { Plan } from "./plan";

/** A draft, with what is wrong in it: once it was sent, and until that is changed. */
function useEditor(begin: () => Draft) {
  const [draft, setDraft] = useState(begin);
  const [isSent, setSent] = useState(false);
  const [refused, setRefused] = useState<Faults>({});
  const { spec, faults } = specOf(draft);
  const editor: Editor = {
    draft,
    set: (patch) => {
      setDraft({ ...draft, ...patch });
      setRefused({});
    },
    fault: (field) => refused[field] ?? (isSent ? faults[field] : undefined),
  };
  /** Sends what the draft says. What is refused is said at the field that it is about. */
  const send = async (change: (spec: Spec) => Promise<unknown>) => {
    setSent(true);
    if (Object.keys(faults).length > 0) throw new Error(t("Look at the fields that are marked."));
    try {
      await change(spec);
    } catch (error) {
      if (error instanceof Refusal) setRefused(faultsOf(error, draft));
      throw error;
    }
  };
  return { editor, send, setDraft };
}

const kinds = (): { id: Kind; name: string; about: string }[] => [
  { id: "auto-snap", name: t("Takes snapshots"), about: t("Of datasets, by levels, within a budget") },
  { id: "auto-sync", name: t("Replicates"), about: t("To another pool, another appliance, or a host with OpenZFS") },
  { id: "auto-tier", name: t("Moves or copies files"), about: t("Old or large ones, to a dataset, a folder or a host") },
  { id: "auto-scrub", name: t("Scrubs"), about: t("Reads pools whole, and repairs what is bad") },
  { id: "auto-trim", name: t("Trims"), about: t("Tells solid-state devices what is free") },
  { id: "script", name: t("Runs a program"), about: t("Of this machine, within bounds") },
];

export function NewService({ close }: { close: () => void }) {
  const client = useQueryClient();
  const [id, setId] = useState("");
  const [isMade, setMade] = useState(false);
  const { editor, send } = useEditor(newDraft);
  if (isMade) return <Made id={id} close={close} />;
  const run = () => send(async (spec) => {
    await post("/v1/services", { body: { id, enabled: false, spec } });
    await renew(client, ["/v1/services"]);
  });
  return (
    <Form action={t("Create service")} isDisabled={!id} onCancel={close} onDone={() => setMade(true)} run={run}>
      <Select label={t("What it does")} value={editor.draft.kind} onChange={(kind) => editor.set({ kind })} options={kinds()} />
      <Field label={t("Name")} value={id} onChange={setId} spellCheck="false" description={t("Lower case letters, digits and -, at most 32.")} fault={editor.fault("id")} autoFocus />
      <Fields of={editor} />
    </Form>
  );
}

/** It is there, and does nothing yet. */
function Made({ id, close }: { id: string; close: () => void }) {
  const client = useQueryClient();
  const path = { name: id };
  const ask = async (change: () => Promise<unknown>) => {
    await change();
    await renew(client, ["/v1/services"]);
  };
  return (
    <Form action={t("Enable it")} cancel={t("Leave it disabled")} onCancel={close} onDone={close} run={() => ask(() => post("/v1/services/{name}/command", { path, body: { command: "enable" } }))}>
      <p className="note">{t("Service {name} is made, and does nothing before it is enabled. This is what it would do:", { name: plainly(id) })}</p>
      <Plan id={id} />
    </Form>
  );
}

interface Begun {
  spec: Spec;
  etag: string | undefined;
}

/** The spec with its tag: of when the form was opened, and not of when something was read before. */
async function begunOf(id: string): Promise<Begun> {
  const { value, etag } = await get("/v1/services/{name}/spec", { path: { name: id } });
  return { spec: value as Spec, etag };
}

export function ChangeService({ service, close }: { service: Schemas["Service"]; close: () => void }) {
  const [begun, setBegun] = useState<Begun>();
  const [failure, setFailure] = useState<unknown>();
  useEffect(() => {
    begunOf(service.id).then(setBegun, setFailure);
  }, [service.id]);
  if (!begun) return failure ? <Failure error={failure} /> : <p role="status" className="muted">{t("Loading…")}</p>;
  return <ChangeForm id={service.id} begun={begun} close={close} />;
}

function ChangeForm({ id, begun, close }: { id: string; begun: Begun; close: () => void }) {
  const client = useQueryClient();
  const { editor, send } = useEditor(() => draftOf(begun.spec));
  const [etag, setEtag] = useState(begun.etag);
  const [theirs, setTheirs] = useState<Spec>();
  const run = () => send(async (spec) => {
    try {
      await post("/v1/services/{name}/spec", { path: { name: id }, ifMatch: etag, body: { spec } });
      await renew(client, ["/v1/services"]);
    } catch (error) {
      if (!(error instanceof Refusal) || error.kind !== "precondition-failed") throw error;
      const now = await begunOf(id);
      setEtag(now.etag);
      setTheirs(now.spec);
      throw new Error(t("Somebody changed this service while you were typing. Look at it below, then save again, or cancel."));
    }
  });
  return (
    <Form action={t("Save")} onCancel={close} onDone={close} run={run}>
      <Fields of={editor} />
      {theirs && <Theirs mine={begun.spec} theirs={theirs} />}
    </Form>
  );
}

/** What another has set meanwhile: what the service does now, and each field that is not as it was. */
function Theirs({ mine, theirs }: { mine: Spec; theirs: Spec }): ReactNode {
  const [before, after] = [mine as Record<string, unknown>, theirs as Record<string, unknown>];
  const names = Object.keys(after).filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  return (
    <div className="note warn stack tight">
      <p>{t("Meanwhile it was set to: {about}", { about: aboutOf(theirs as Schemas["ServiceSpec"]) })}</p>
      <ul className="mono small">{names.map((name) => <li key={name}>{plainly(`${name}: ${JSON.stringify(after[name])}`)}</li>)}</ul>
    </div>
  );
}
