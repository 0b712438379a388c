/** Asks for the password where the session has ended. The page below stays, with what was typed in it. */
import { useSession } from "../api/session";
import { t } from "../words";
import { SignIn } from "./signin";
import { Sheet } from "./ui";

export function Again() {
  const { isExpired, me, begin } = useSession();
  return (
    <Sheet title={t("Your session has ended")} isOpen={isExpired} onClose={() => {}} isFixed>
      <p>{t("Sign in again to go on. Nothing that you typed is lost.")}</p>
      <SignIn name={me?.name ?? undefined} onIn={begin} />
    </Sheet>
  );
}
