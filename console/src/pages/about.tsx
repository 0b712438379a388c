/** Which version runs, and the licences of what the console is made of. */
import { useRead } from "../api/queries";
import { Head, Loaded } from "../parts/ui";
import { t } from "../words";

export default function About() {
  const version = useRead("/v1/version");
  return (
    <div className="page">
      <Head title={t("About")} />
      <section className="card stack" aria-label={t("Version")}>
        <Loaded of={version}>
          {({ value }) => (
            <dl className="facts">
              <dt>{t("Version")}</dt><dd>{value.version}</dd>
              <dt>{t("Version of the management API")}</dt><dd>{value.api}</dd>
              <dt>{t("Description of the API")}</dt><dd><a href="/v1/openapi.json">{t("OpenAPI 3.1")}</a></dd>
              <dt>{t("Packages in this console")}</dt><dd><a href="/assets/licences.txt">{t("Names, versions and licences")}</a></dd>
            </dl>
          )}
        </Loaded>
      </section>
    </div>
  );
}
