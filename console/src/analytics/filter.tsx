/** Which requests are wanted, as fields. */
import { useState } from "react";
import { Field, Select, type Option } from "../parts/ui";
import { t } from "../words";
import { typed, type Filter } from "./request";

const EMPTY = { protocol: "", client: "", dataset: "", file: "", operation: "", device: "", slower: "" };

/** The fields, and what they come to. */
export function useFilter(): [React.ReactNode, Filter] {
  const [fields, setFields] = useState(EMPTY);
  const set = (name: keyof typeof EMPTY) => (value: string) => setFields({ ...fields, [name]: value });
  const protocols: Option<string>[] = [{ id: "", name: t("any") }, { id: "nfs", name: t("NFS") }, { id: "iscsi", name: t("iSCSI") }, { id: "nbd", name: t("NBD") }, { id: "local", name: t("Local mounts") }];
  const shown = (
    <div className="row base">
      <Select label={t("Protocol")} options={protocols} value={fields.protocol} onChange={set("protocol")} />
      <Field label={t("Client")} value={fields.client} onChange={set("client")} spellCheck="false" />
      <Field label={t("Dataset")} value={fields.dataset} onChange={set("dataset")} spellCheck="false" />
      <Field label={t("File in it")} value={fields.file} onChange={set("file")} spellCheck="false" />
      <Field label={t("Operation")} value={fields.operation} onChange={set("operation")} spellCheck="false" />
      <Field label={t("Device")} value={fields.device} onChange={set("device")} spellCheck="false" />
      <Field label={t("Slower than (ms)")} value={fields.slower} onChange={set("slower")} isNarrow inputMode="decimal" />
    </div>
  );
  return [shown, typed(fields)];
}
