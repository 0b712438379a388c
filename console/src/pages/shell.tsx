/** The appliance's own shell, in a terminal. It does what the account may do, and is never the operating system's. */
import { useEffect, useRef, useState } from "react";
import { connect, type Connection, type End } from "../shell/connection";
import type { Screen } from "../shell/terminal";
import { Button, Failure, Head, State } from "../parts/ui";
import { t } from "../words";

const why = (end: End) => ({
  exited: t("The shell has ended."),
  closed: t("The shell was closed."),
  idle: t("The shell has ended: nothing was typed for 15 minutes."),
  unread: t("The shell has ended: nobody has looked at it for a minute."),
  session: t("The shell has ended, because the session that opened it has."),
  taken: t("This shell is shown in another tab now."),
  gone: t("This shell is there no more."),
})[end];

export default function Shell() {
  const place = useRef<HTMLDivElement>(null);
  const next = useRef<HTMLDivElement>(null);
  const screen = useRef<Screen | undefined>(undefined);
  const connection = useRef<Connection | undefined>(undefined);
  const [state, setState] = useState<"begins" | "open" | "lost">("begins");
  const [end, setEnd] = useState<End>();
  const [failure, setFailure] = useState<unknown>();

  const open = () => {
    const shown = screen.current;
    if (!shown) return;
    connection.current?.leave();
    setState("begins");
    setEnd(undefined);
    setFailure(undefined);
    shown.clear();
    shown.listen(true);
    connection.current = connect(shown.size(), {
      show: (text, isAnew) => {
        if (isAnew) shown.clear();
        shown.write(text);
      },
      state: setState,
      ended: (why) => {
        shown.listen(false);
        setEnd(why);
      },
      failed: setFailure,
    });
  };

  useEffect(() => {
    let isGone = false;
    // The terminal is loaded on this page alone.
    import("../shell/terminal").then(({ begin }) => {
      if (isGone || !place.current) return;
      screen.current = begin(place.current, {
        type: (text) => connection.current?.type(text),
        resize: () => screen.current && connection.current?.resize(screen.current.size()),
        leave: () => next.current?.querySelector("button")?.focus(),
      });
      open();
    }, setFailure);
    return () => {
      isGone = true;
      connection.current?.leave();
      screen.current?.end();
      screen.current = undefined;
    };
  }, []);

  const again = () => {
    open();
    screen.current?.focus();
  };
  return (
    <div className="page">
      <Head title={t("Shell")} about={t("The shell of the appliance, for what your role may do. It has no files, and no programs of the operating system. It ends after 15 minutes without a key.")} />
      <Failure error={failure} />
      <div className="row" role="status">
        {end ? <State tone="idle">{why(end)}</State> : <State tone={state === "open" ? "good" : "busy"}>{{ begins: t("It begins"), open: t("Open"), lost: t("The connection is lost; it is tried again") }[state]}</State>}
      </div>
      <div ref={place} className={end ? "shell-screen over" : "shell-screen"} />
      <div ref={next} className="row">
        {end ? <Button manner="first" onPress={again}>{end === "taken" ? t("Show it here") : t("Open a new shell")}</Button> : <Button onPress={() => connection.current?.close()}>{t("Close the shell")}</Button>}
        <span className="small muted">{t("F6 leaves the terminal to here, Shift and Tab to what is before it. Tab completes what is typed.")}</span>
      </div>
    </div>
  );
}
