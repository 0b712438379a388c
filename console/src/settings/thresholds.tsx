/** From where on something is a fault, and when the weekly report comes. */
import { useState } from "react";
import { useQueryClient } from "@tanstack/react-query";
import { post, type Schemas } from "../api/client";
import { renew, useRead } from "../api/queries";
import { wholeOf } from "../parts/amounts";
import { Button, Check, Failure, Field, Form, Loaded, Select, State } from "../parts/ui";
import { weekdays } from "../parts/when";
import { t } from "../words";

type Settings = Schemas["AlertSettings"];
/** Settings that are whole numbers. */
type Figure = { [K in keyof Settings]: Settings[K] extends number ? K : never }[keyof Settings];

const figures = (): { name: Figure; label: string; about: string }[] => [
  { name: "full_warning", label: t("Full pool: warning"), about: t("Percent of its space in use") },
  { name: "full_error", label: t("Full pool: error"), about: t("Percent") },
  { name: "full_critical", label: t("Full pool: critical"), about: t("Percent") },
  { name: "fragmented", label: t("Fragmented pool"), about: t("Percent") },
  { name: "over_commit", label: t("Promised by volumes"), about: t("Percent of the room that there is") },
  { name: "snapshots", label: t("Snapshots of one dataset"), about: t("More are a fault") },
  { name: "hot_disk", label: t("Hot disk"), about: t("Degrees Celsius") },
  { name: "slow_disk", label: t("Slow disk"), about: t("Percent of the time that others of its vdev take: 400 is four times") },
  { name: "memory", label: t("Memory that has to be left"), about: t("Percent") },
  { name: "certificate_days", label: t("Certificate ends in"), about: t("Days") },
];

export function Thresholds({ mayChange }: { mayChange: boolean }) {
  const settings = useRead("/v1/alert-settings", {}, { staleTime: 0 });
  const [isDone, setDone] = useState(false);
  return (
    <Loaded of={settings}>
      {({ value }) => (
        <>
          <ThresholdForm key={JSON.stringify(value)} settings={value} mayChange={mayChange} setDone={setDone} />
          {isDone && <p role="status"><State tone="good">{t("Saved")}</State></p>}
        </>
      )}
    </Loaded>
  );
}

function ThresholdForm({ settings, mayChange, setDone }: { settings: Settings; mayChange: boolean; setDone: (isDone: boolean) => void }) {
  const client = useQueryClient();
  const all = figures();
  const [texts, setTexts] = useState(() => Object.fromEntries(all.map(({ name }) => [name, String(settings[name])])));
  const [smart, setSmart] = useState(settings.smart);
  const [ups, setUps] = useState(settings.ups ?? "");
  const [upsStops, setUpsStops] = useState(settings.ups_stops);
  const [report, setReport] = useState(settings.report);
  const [day, setDay] = useState(settings.report_day);
  const [hour, setHour] = useState(String(settings.report_hour));
  const faultOf = (text: string) => (wholeOf(text) === undefined ? t("A whole number.") : undefined);
  const isWrong = [...Object.values(texts), hour].some(faultOf);
  const run = async () => {
    setDone(false);
    const numbers = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, wholeOf(text)]));
    await post("/v1/alert-settings", { body: { ...settings, ...numbers, smart, ups: ups.trim() || null, ups_stops: upsStops, report, report_day: day, report_hour: wholeOf(hour) } as never });
    setDone(true);
    await renew(client, ["/v1/alert-settings", "/v1/alerts"]);
  };
  return (
    <Form action={t("Save thresholds")} isDisabled={!mayChange || isWrong} run={run}>
      <div className="cards">
        {all.map(({ name, label, about }) => (
          <Field key={name} label={label} description={about} inputMode="numeric" isReadOnly={!mayChange} value={texts[name] ?? ""} fault={faultOf(texts[name] ?? "")} onChange={(text) => setTexts({ ...texts, [name]: text })} />
        ))}
      </div>
      <Check isSelected={smart} onChange={setSmart} isDisabled={!mayChange}>{t("Ask disks how they are, by smartctl")}</Check>
      <Field label={t("UPS")} value={ups} onChange={setUps} isReadOnly={!mayChange} spellCheck="false" description={t("By Network UPS Tools, as NAME@HOST. Empty: there is none.")} />
      <Check isSelected={upsStops} onChange={setUpsStops} isDisabled={!mayChange}>{t("When its battery is nearly empty, export the pools and end")}</Check>
      <Check isSelected={report} onChange={setReport} isDisabled={!mayChange}>{t("A report each week")}</Check>
      {report && (
        <div className="row base">
          <Select label={t("Day")} value={day} onChange={setDay} options={weekdays()} />
          <Field isNarrow label={t("Hour")} value={hour} onChange={setHour} inputMode="numeric" fault={faultOf(hour)} />
          {mayChange && <SendReport />}
        </div>
      )}
    </Form>
  );
}

function SendReport() {
  const [sent, setSent] = useState<number>();
  const [failure, setFailure] = useState<unknown>();
  const send = () => post("/v1/alert-report").then((done) => setSent(done.routes.length), setFailure);
  return (
    <>
      <Button onPress={() => void send()}>{t("Send that of the last week now")}</Button>
      {sent !== undefined && <span role="status"><State tone={sent > 0 ? "good" : "idle"}>{sent > 0 ? t("It is on its way") : t("No route takes it")}</State></span>}
      <Failure error={failure} />
    </>
  );
}
