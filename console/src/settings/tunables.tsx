/** Numbers that may be set while the daemon runs, as OpenZFS calls them. */
import { useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { post, type Schemas } from "../api/client";
import { renew, useRead } from "../api/queries";
import { wholeOf } from "../parts/amounts";
import { Grid, byText, type Column } from "../parts/grid";
import { Button, Field, Form, Loaded, Search, Sheet } from "../parts/ui";
import { number, plainly, t } from "../words";

type Tunable = Schemas["Tunable"];

export function Tunables({ mayChange }: { mayChange: boolean }) {
  const tunables = useRead("/v1/tunables");
  const [search, setSearch] = useState("");
  const [edited, edit] = useState<Tunable>();
  const columns: Column<Tunable>[] = [
    { id: "name", name: t("Name"), width: "minmax(230px, 1fr)", show: ({ name }) => <span className="mono" title={name}>{name}</span>, order: byText(({ name }) => name) },
    { id: "value", name: t("Value"), width: "150px", isNumber: true, show: ({ value }) => number(value) },
    { id: "default", name: t("Default"), width: "150px", isNumber: true, show: (one) => <span className={one.default === one.value ? "muted" : ""}>{number(one.default)}</span> },
    { id: "about", name: t("What it is"), width: "minmax(260px, 2fr)", show: ({ about }) => <span title={about}>{plainly(about)}</span> },
  ];
  const wanted = search.trim().toLowerCase();
  return (
    <section className="stack tight" aria-labelledby="tunables">
      <div className="row"><h2 id="tunables">{t("Tunables")}</h2><Search label={t("Search tunables")} value={search} onChange={setSearch} /></div>
      <p className="small muted">{t("They hold until the daemon ends. What is to stay belongs into its configuration file.")}</p>
      <Loaded of={tunables}>
        {({ value }) => (
          <Grid label={t("Tunables")} rows={value.filter(({ name, about }) => !wanted || name.includes(wanted) || about.toLowerCase().includes(wanted))} columns={columns} keyOf={({ name }) => name}
            onOpen={(one) => mayChange && edit(one)} least={820} empty={<p>{t("No tunable has this in it.")}</p>} />
        )}
      </Loaded>
      <Sheet title={t("Set {property}", { property: edited?.name ?? "" })} isOpen={!!edited} onClose={() => edit(undefined)}>{edited && <TunableForm tunable={edited} close={() => edit(undefined)} />}</Sheet>
    </section>
  );
}

function TunableForm({ tunable, close }: { tunable: Tunable; close: () => void }) {
  const client = useQueryClient();
  const [text, setText] = useState(String(tunable.value));
  const value = wholeOf(text);
  const isOut = value === undefined || value < tunable.min || value > tunable.max;
  const range = t("From {min} to {max}", { min: number(tunable.min), max: number(tunable.max) });
  const run = async () => {
    await post("/v1/tunables", { body: { name: tunable.name, value: value! } });
    await renew(client, ["/v1/tunables"]);
  };
  return (
    <Form action={t("Save")} isDisabled={isOut} onCancel={close} onDone={close} run={run}>
      <p>{plainly(tunable.about)}</p>
      <Field label={t("Value of {property}", { property: tunable.name })} value={text} onChange={setText} inputMode="numeric" description={range} fault={isOut ? range : undefined} autoFocus />
      <div className="row"><Button onPress={() => setText(String(tunable.default))}>{t("The default")}</Button></div>
    </Form>
  );
}
