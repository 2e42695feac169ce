import { createContext, type ReactNode, useContext, useEffect, useRef, useState } from "react";
import { isRawNumber, type Json, parseJSON, pretty } from "../api/json";
import type { Node, Option } from "../schema/model";
import type { Findings } from "../schema/validate";

/** What the fields of one form share. */
export interface FormContext {
	findings: Findings;
	/** Whether a field's finding is shown: after it was left, or after a try to run. */
	shown(path: string): boolean;
	touch(path: string): void;
	/** A JSON field whose text is no JSON has no value; the form has to know. */
	setBroken(path: string, message: string | undefined): void;
}

export const FormState = createContext<FormContext>({
	findings: new Map(),
	shown: () => false,
	touch: () => {},
	setBroken: () => {},
});

/** A field of a form. */
export interface FieldProps {
	node: Node;
	name: string;
	path: string;
	required: boolean;
	value: Json | undefined;
	onChange(value: Json | undefined): void;
	actions?: ReactNode;
}

/** The input of a field. */
export interface InputProps extends FieldProps {
	id: string;
	describedBy: string | undefined;
	invalid: boolean;
}

/** What every input says of itself to those who do not see it. */
export type Aria = {
	id: string;
	"aria-describedby": string | undefined;
	"aria-invalid": boolean;
	"aria-required": boolean;
};

export function TextField(
	props: InputProps & { aria: Aria; input: string; multiline: boolean; unset: null | undefined },
) {
	const [grown, setGrown] = useState(false);
	const value = typeof props.value === "string" ? props.value : props.value == null ? "" : JSON.stringify(props.value);
	const change = (next: string) =>
		props.onChange(next === "" && (props.name !== "" || props.unset === null) ? props.unset : next);
	if (props.multiline || grown || value.includes("\n")) {
		return (
			<textarea
				{...props.aria}
				className="input input-text"
				rows={3}
				value={value}
				onChange={(event) => change(event.currentTarget.value)}
			/>
		);
	}
	const moment = props.input === "datetime-local";
	return (
		<input
			{...props.aria}
			className="input"
			type={props.input}
			step={moment || props.input === "time" ? 1 : undefined}
			autoComplete="off"
			value={moment ? toLocal(value) : value}
			onChange={(event) => change(moment ? toInstant(event.currentTarget.value) : event.currentTarget.value)}
			onPaste={(event) => {
				// One line cannot hold what was copied: the field grows instead of losing line ends.
				if (props.input !== "text" || !event.clipboardData.getData("text").includes("\n")) return;
				event.preventDefault();
				const box = event.currentTarget;
				change(
					value.slice(0, box.selectionStart ?? 0) +
						event.clipboardData.getData("text") +
						value.slice(box.selectionEnd ?? 0),
				);
				setGrown(true);
			}}
		/>
	);
}

/** A date-time is an instant on the wire and local time for the person. */
function toLocal(instant: string): string {
	const at = new Date(instant);
	if (instant === "" || Number.isNaN(at.getTime())) return "";
	return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

function toInstant(local: string): string {
	const at = new Date(local);
	return local === "" || Number.isNaN(at.getTime()) ? "" : at.toISOString();
}

const numeral = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/;

export function NumberField(props: {
	aria: Aria;
	value: Json | undefined;
	integer: boolean;
	unset: null | undefined;
	onChange(value: Json | undefined): void;
}) {
	const [typed, setTyped] = useState("");
	const shown = props.value == null ? "" : typeof props.value === "string" ? props.value : JSON.stringify(props.value);
	// "1." and "1.0" are the number 1: what was typed stays while it means the value.
	const same = numeral.test(typed) && JSON.stringify(parseJSON(typed)) === shown;
	return (
		<input
			{...props.aria}
			className="input input-number"
			inputMode={props.integer ? "numeric" : "decimal"}
			autoComplete="off"
			value={same ? typed : shown}
			onChange={(event) => {
				const text = event.currentTarget.value.trim();
				setTyped(text);
				props.onChange(text === "" ? props.unset : numeral.test(text) ? (parseJSON(text) as Json) : text);
			}}
		/>
	);
}

export function ChoicesField(props: {
	options: Option[];
	value: Json | undefined;
	required: boolean;
	onChange(value: Json | undefined): void;
}) {
	const chosen = Array.isArray(props.value) ? props.value : [];
	return (
		<div className="choices">
			{props.options.map((option) => {
				const on = chosen.some((value) => sameJson(value, option.value));
				return (
					<label key={JSON.stringify(option.value)}>
						<input
							type="checkbox"
							checked={on}
							onChange={() => {
								const next = on ? chosen.filter((value) => !sameJson(value, option.value)) : [...chosen, option.value];
								props.onChange(next.length === 0 && !props.required ? undefined : next);
							}}
						/>
						{option.label}
					</label>
				);
			})}
		</div>
	);
}

export function JsonField(props: InputProps & { aria: Aria; expects: string }) {
	const form = useContext(FormState);
	const [typed, setTyped] = useState<string | undefined>(undefined);
	const [problem, setProblem] = useState("");
	const setBroken = useRef(form.setBroken);
	setBroken.current = form.setBroken;
	useEffect(() => () => setBroken.current(props.path, undefined), [props.path]);
	// What was typed stands while it means the value, or while it means nothing.
	const shown = typed !== undefined && (problem || meansSame(typed, props.value)) ? typed : textOf(props.value);
	return (
		<>
			<textarea
				{...props.aria}
				aria-invalid={props.invalid || problem !== ""}
				className="input input-code"
				rows={3}
				spellCheck={false}
				placeholder={`JSON: ${props.expects}`}
				value={shown}
				onChange={(event) => {
					const text = event.currentTarget.value;
					setTyped(text);
					let message = "";
					try {
						props.onChange(text.trim() === "" ? undefined : (parseJSON(text) as Json));
					} catch (cause) {
						message = `Not JSON yet: ${cause instanceof Error ? cause.message : cause}`;
					}
					setProblem(message);
					form.setBroken(props.path, message || undefined);
				}}
			/>
			{problem && <p className="field-finding">{problem}</p>}
		</>
	);
}

function textOf(value: Json | undefined): string {
	return value === undefined ? "" : pretty(value);
}

function meansSame(text: string, value: Json | undefined): boolean {
	if (text.trim() === "") return value === undefined;
	try {
		return sameJson(parseJSON(text) as Json, value);
	} catch {
		return false;
	}
}

export function sameJson(a: Json | undefined, b: Json | undefined): boolean {
	if (isRawNumber(a) || isRawNumber(b)) return JSON.stringify(a) === JSON.stringify(b);
	return a === b || (typeof a === "object" && typeof b === "object" && JSON.stringify(a) === JSON.stringify(b));
}
