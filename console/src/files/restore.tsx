/** Copying a file of a snapshot back: under its own name, where what is there now is lost, or beside it under another. */
import { useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { finished, post, type Schemas } from "../api/client";
import { renew } from "../api/queries";
import { Field, Form, NameTyped, Progress, Select } from "../parts/ui";
import { plainly, size, t } from "../words";
import { below, escaped, parted, shown, textOf } from "./names";

interface RestoreProps {
  snapshot: string;
  path: string;
  /** Something has its name now. */
  isThere: boolean;
  close: () => void;
  onDone: () => void;
}

/** `plan.txt` of the snapshot `monday`: `plan (monday).txt`. */
function another(name: string, snapshot: string): string {
  const dot = name.lastIndexOf(".");
  const [stem, end] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ""];
  return `${stem} (${snapshot})${end}`;
}

export function Restore({ snapshot, path, isThere, close, onDone }: RestoreProps) {
  const [directory, own] = parted(path);
  const [where, setWhere] = useState<"own" | "other">(isThere ? "other" : "own");
  const [name, setName] = useState(another(textOf(own) ?? own, snapshot.split("@")[1] ?? ""));
  const [typed, setTyped] = useState("");
  const [job, setJob] = useState<Schemas["Job"]>();
  const client = useQueryClient();
  const isLost = where === "own" && isThere;
  const word = shown(own);
  const lacks = where === "other" ? !name || name.includes("/") : isLost && typed !== word;
  const run = async () => {
    const to = where === "own" ? "" : below(directory, escaped(name));
    setJob(undefined);
    await finished(await post("/v1/file-restores", { body: { snapshot, path, to, replace: isLost } }), setJob);
    await renew(client, ["files"]);
  };
  return (
    <Form action={t("Restore")} isDangerous={isLost} isDisabled={lacks} onCancel={close} onDone={onDone} run={run}>
      <p>{t("It is copied from {snapshot} into {dataset}, with its owner, mode, times and attributes.", { snapshot: plainly(snapshot), dataset: plainly(snapshot.split("@")[0] ?? "") })}</p>
      <Select label={t("As")} value={where} onChange={setWhere} options={[
        { id: "own", name: t("The file that it was"), about: isThere ? t("What is there now is replaced") : t("Nothing has its name now") },
        { id: "other", name: t("Another file beside it") },
      ]} />
      {where === "other" && <Field label={t("Name of the copy")} value={name} onChange={setName} spellCheck="false" fault={name.includes("/") ? t("A name has no slash.") : undefined} />}
      {isLost && (
        <>
          <p className="note bad">{t("What {name} holds now is lost, unless a snapshot has it.", { name: word })}</p>
          <NameTyped name={word} value={typed} onChange={setTyped} />
        </>
      )}
      {job?.state === "running" && job.progress.total > 0 && (
        <div className="stack tight" role="status">
          <Progress label={t("Copied")} part={job.progress.done} whole={job.progress.total} />
          <span className="small muted">{t("{done} of {all}", { done: size(job.progress.done), all: size(job.progress.total) })}</span>
        </div>
      )}
    </Form>
  );
}
