/** What is set of the appliance itself: faults and who is told, the machine, and tunables. */
import { Tab, TabList, TabPanel, Tabs } from "react-aria-components/Tabs";
import { useSession } from "../api/session";
import { Certificate, Clock, Copies, Logging } from "../settings/machine";
import { Routes } from "../settings/routes";
import { Thresholds } from "../settings/thresholds";
import { Tunables } from "../settings/tunables";
import { Head } from "../parts/ui";
import { t } from "../words";

export default function Settings() {
  const { may } = useSession();
  const mayChange = may("administrator");
  return (
    <div className="page">
      <Head title={t("Settings")} about={mayChange ? t("Of the appliance itself.") : t("Of the appliance itself. An administrator changes them.")} />
      <Tabs className="tabs">
        <TabList aria-label={t("Settings")}>
          <Tab id="faults">{t("Faults")}</Tab>
          <Tab id="machine">{t("Machine")}</Tab>
          <Tab id="tunables">{t("Tunables")}</Tab>
        </TabList>
        <TabPanel id="faults" className="stack">
          <Routes />
          <section className="card stack" aria-labelledby="thresholds"><h2 id="thresholds">{t("From where on something is a fault")}</h2><Thresholds mayChange={mayChange} /></section>
        </TabPanel>
        <TabPanel id="machine" className="stack">
          <Certificate mayChange={mayChange} />
          <Clock mayChange={mayChange} />
          <Logging mayChange={mayChange} />
          <Copies mayChange={mayChange} />
        </TabPanel>
        <TabPanel id="tunables" className="stack"><Tunables mayChange={mayChange} /></TabPanel>
      </Tabs>
    </div>
  );
}
