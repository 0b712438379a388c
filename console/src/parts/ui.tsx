/** The controls of all pages: react-aria's, in our clothes. */
import { useId, useState, type FormEvent, type ReactNode } from "react";
import { Button as AriaButton, type ButtonProps } from "react-aria-components/Button";
import { Checkbox as AriaCheckbox, type CheckboxProps } from "react-aria-components/Checkbox";
import { Dialog, Heading } from "react-aria-components/Dialog";
import { Modal, ModalOverlay } from "react-aria-components/Modal";
import { Menu, MenuItem, MenuTrigger } from "react-aria-components/Menu";
import { ListBox, ListBoxItem } from "react-aria-components/ListBox";
import { Popover } from "react-aria-components/Popover";
import { Radio, RadioGroup } from "react-aria-components/RadioGroup";
import { Select as AriaSelect, SelectValue } from "react-aria-components/Select";
import { TextArea } from "react-aria-components/TextArea";
import { FieldError, Input, Label, Text, TextField, type TextFieldProps } from "react-aria-components/TextField";
import { Refusal } from "../api/client";
import { percent, plainly, size, t } from "../words";

type Manner = "first" | "danger" | "quiet";

export function Button({ manner, ...props }: ButtonProps & { manner?: Manner | `${Manner} ${Manner}` | undefined }) {
  return <AriaButton {...props} className={`button ${manner ?? ""}`} />;
}

/** A name of a pool, a dataset, a person: text, with its own direction, and with what cannot be seen made visible. */
export const Name = ({ children }: { children: string }) => <bdi>{plainly(children)}</bdi>;

interface FieldProps extends Omit<TextFieldProps, "children" | "className"> {
  label: string;
  description?: string | undefined;
  fault?: string | undefined;
  placeholder?: string;
  /** It is for a few characters. */
  isNarrow?: boolean;
  /** Several lines, one thing a line. */
  isLong?: boolean;
  /** What may be meant: those that have what was typed are offered. */
  names?: string[];
}

/** So many names are offered at most: of ten thousand, a few more letters find the one. */
const OFFERED = 50;

export function Field({ label, description, fault, placeholder, isNarrow, isLong, names, ...props }: FieldProps) {
  const id = useId();
  const typed = (props.value ?? "").toLowerCase();
  const offered: string[] = [];
  for (const name of names ?? []) {
    if (offered.length === OFFERED) break;
    if (name.toLowerCase().includes(typed)) offered.push(name);
  }
  return (
    <TextField {...props} className={isNarrow ? "field narrow" : "field"} isInvalid={!!fault}>
      <Label>{label}</Label>
      {isLong ? <TextArea rows={3} /> : <Input placeholder={placeholder} list={names ? id : undefined} />}
      {names && <datalist id={id}>{offered.map((name) => <option key={name} value={name} />)}</datalist>}
      {description && <Text slot="description" className="description">{description}</Text>}
      <FieldError className="fault">{fault}</FieldError>
    </TextField>
  );
}

export function Search({ label, value, onChange }: { label: string; value: string; onChange: (text: string) => void }) {
  return (
    <TextField aria-label={label} value={value} onChange={onChange} className="search" type="search">
      <Input placeholder={label} />
    </TextField>
  );
}

export function Check({ children, ...props }: Omit<CheckboxProps, "children"> & { children?: ReactNode }) {
  return (
    <AriaCheckbox {...props} className="check">
      <span className="box" aria-hidden="true"><svg viewBox="0 0 12 12"><path d="M1.5 6.2 4.7 9.4 10.6 2.8" fill="none" stroke="currentColor" strokeWidth="2" /></svg></span>
      <span>{children}</span>
    </AriaCheckbox>
  );
}

export interface Option<T extends string> {
  id: T;
  name: string;
  about?: string;
}

interface SelectProps<T extends string> {
  label: string;
  options: Option<T>[];
  value: T;
  onChange: (value: T) => void;
  description?: string;
}

export function Select<T extends string>({ label, options, value, onChange, description }: SelectProps<T>) {
  return (
    <AriaSelect className="field" value={value} onChange={(key) => onChange(String(key) as T)}>
      <Label className="label">{label}</Label>
      <AriaButton className="select-button"><SelectValue /><span aria-hidden="true">{"▾"}</span></AriaButton>
      {description && <Text slot="description" className="description">{description}</Text>}
      <Popover className="popover">
        <ListBox items={options}>
          {(option: Option<T>) => (
            <ListBoxItem id={option.id} textValue={option.name}>
              <span>{option.name}</span>
              {option.about && <span className="muted small">{option.about}</span>}
            </ListBoxItem>
          )}
        </ListBox>
      </Popover>
    </AriaSelect>
  );
}

interface ChoicesProps<T extends string> {
  label: string;
  value: T | null;
  onChange: (value: T) => void;
  options: { id: T; isDisabled?: boolean; content: ReactNode }[];
}

/** Cards of which one is chosen. */
export function Choices<T extends string>({ label, value, onChange, options }: ChoicesProps<T>) {
  return (
    <RadioGroup aria-label={label} value={value} onChange={(key) => onChange(key as T)} className="choices">
      {options.map(({ id, isDisabled, content }) => (
        <Radio key={id} value={id} isDisabled={isDisabled} className="choice">{content}</Radio>
      ))}
    </RadioGroup>
  );
}

export interface Deed {
  id: string;
  name: string;
  isDangerous?: boolean;
  isDisabled?: boolean;
  run: () => void;
}

/** What can be done with something. */
export function Deeds({ label, deeds, text, isQuiet }: { label: string; deeds: Deed[]; text?: string; isQuiet?: boolean }) {
  if (deeds.length === 0) return null;
  return (
    <MenuTrigger>
      <Button aria-label={label} manner={isQuiet ? "quiet" : undefined}>{text ?? t("Actions")}<span aria-hidden="true">{"▾"}</span></Button>
      <Popover className="popover">
        <Menu onAction={(key) => deeds.find(({ id }) => id === key)?.run()} disabledKeys={deeds.filter((one) => one.isDisabled).map(({ id }) => id)}>
          {deeds.map(({ id, name, isDangerous }) => (
            <MenuItem key={id} id={id} textValue={name}><span className={isDangerous ? "danger" : ""}>{name}</span></MenuItem>
          ))}
        </Menu>
      </Popover>
    </MenuTrigger>
  );
}

interface SheetProps {
  title: string;
  isOpen: boolean;
  onClose: () => void;
  isWide?: boolean;
  /** It asks before something is lost. */
  isAlert?: boolean;
  /** It cannot be closed by itself. */
  isFixed?: boolean;
  children: ReactNode;
}

/** A dialog over the page. */
export function Sheet({ title, isOpen, onClose, isWide, isAlert, isFixed, children }: SheetProps) {
  return (
    <ModalOverlay isOpen={isOpen} onOpenChange={(open) => !open && onClose()} isDismissable={!isFixed && !isAlert} isKeyboardDismissDisabled={!!isFixed} className="veil">
      <Modal className={isWide ? "sheet wide" : "sheet"}>
        <Dialog role={isAlert ? "alertdialog" : "dialog"}>
          <Heading slot="title" level={2}>{title}</Heading>
          {isOpen && children}
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

interface FormProps {
  children: ReactNode;
  /** Of the button that sends it. */
  action: string;
  isDangerous?: boolean;
  isDisabled?: boolean;
  onCancel?: () => void;
  /** Of the button that closes it. */
  cancel?: string;
  run: () => Promise<unknown>;
  onDone?: () => void;
}

/** Fields, and what sends them. What is refused stays, with the reason. */
export function Form({ children, action, isDangerous, isDisabled, onCancel, cancel, run, onDone }: FormProps) {
  const [failure, setFailure] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const send = async (event: FormEvent) => {
    event.preventDefault();
    if (isBusy || isDisabled) return;
    setBusy(true);
    setFailure(undefined);
    try {
      await run();
      setBusy(false);
      onDone?.();
    } catch (error) {
      setFailure(error);
      setBusy(false);
    }
  };
  return (
    <form onSubmit={(event) => void send(event)} noValidate>
      {children}
      <Failure error={failure} />
      <div className="row end">
        <span role="status" className="muted small">{isBusy ? t("Working…") : ""}</span>
        {onCancel && <Button onPress={onCancel}>{cancel ?? t("Cancel")}</Button>}
        <Button type="submit" manner={isDangerous ? "danger first" : "first"} isDisabled={isDisabled}>{action}</Button>
      </div>
    </form>
  );
}

/** Asks for a name to be typed before something is lost. */
export function NameTyped({ name, value, onChange }: { name: string; value: string; onChange: (text: string) => void }) {
  return <Field label={t("Type the name {name} to confirm", { name: plainly(name) })} value={value} onChange={onChange} autoComplete="off" spellCheck="false" autoFocus />;
}

/** What to do after a refusal, where the console knows. */
function advice(error: Refusal): string | undefined {
  switch (error.kind) {
    case "unreached": return t("It may be restarting. What you see may be old; it is read again as soon as it answers.");
    case "throttled": return t("Wait {count} seconds, then try again.", { count: error.retryAfter ?? 30 });
    case "denied": return t("Your role does not allow it. Ask an administrator.");
    case "busy": return t("Something else is under way. Try again in a moment.");
    case "suspended": return t("The pool waits for its devices. Look at its page under Pools.");
    default: return undefined;
  }
}

export function Failure({ error }: { error: unknown }) {
  if (!error) return null;
  const detail = error instanceof Error ? error.message : String(error);
  const hint = error instanceof Refusal ? advice(error) : undefined;
  return (
    <div role="alert" className="note bad">
      <p>{plainly(detail)}</p>
      {hint && <p className="small">{hint}</p>}
    </div>
  );
}

export type Tone = "good" | "warn" | "bad" | "idle" | "busy";

export const State = ({ tone, children }: { tone: Tone; children: ReactNode }) => <span className={`state ${tone}`}>{children}</span>;

/** How a health of OpenZFS looks. */
export function toneOf(health: string): Tone {
  switch (health) {
    case "ONLINE": case "online": case "done": return "good";
    case "DEGRADED": case "degraded": case "warning": return "warn";
    case "OFFLINE": case "disabled": case "AVAIL": return "idle";
    case "running": return "busy";
    default: return "bad";
  }
}

/** A share of a whole. */
export function Meter({ label, part, whole, text }: { label: string; part: number; whole: number; text?: string }) {
  const id = useId();
  const share = percent(part, whole);
  const tone = share >= 90 ? "bad" : share >= 80 ? "warn" : "";
  return (
    <div className={`meter ${tone}`}>
      <div className="line"><span id={id}>{label}</span><span className="muted">{text ?? t("{used} of {all}, {share} %", { used: size(part), all: size(whole), share })}</span></div>
      <div className="track" role="meter" aria-labelledby={id} aria-valuemin={0} aria-valuemax={100} aria-valuenow={share}>
        <div className="fill" style={{ width: `${share}%` }} />
      </div>
    </div>
  );
}

export function Progress({ label, part, whole }: { label: string; part: number; whole: number }) {
  const share = percent(part, whole);
  return (
    <div className="meter">
      <div className="track" role="progressbar" aria-label={label} aria-valuemin={0} aria-valuemax={100} aria-valuenow={share}>
        <div className="fill" style={{ width: `${share}%` }} />
      </div>
    </div>
  );
}

interface HeadProps {
  title: ReactNode;
  about?: ReactNode;
  children?: ReactNode;
}

export function Head({ title, about, children }: HeadProps) {
  return (
    <div className="head">
      <div className="title stack tight"><h1>{title}</h1>{about && <div className="muted">{about}</div>}</div>
      {children && <div className="row">{children}</div>}
    </div>
  );
}

/** What is read: not there yet, refused, or there. */
export function Loaded<T>({ of, children }: { of: { data?: T | undefined; error: unknown }; children: (value: T) => ReactNode }) {
  if (of.data !== undefined) return <>{of.error ? <Failure error={of.error} /> : null}{children(of.data)}</>;
  if (of.error) return <Failure error={of.error} />;
  return <p className="muted" role="status">{t("Loading…")}</p>;
}

export const Empty = ({ children, action }: { children: ReactNode; action?: ReactNode }) => <div className="card empty"><p>{children}</p>{action}</div>;
