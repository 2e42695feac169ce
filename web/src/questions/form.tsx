import { useCallback, useMemo, useRef, useState } from "react";
import { isObject, type Json, type JsonObject } from "../api/json";
import type { QuestionAsked, Error as WireError } from "../api/types.gen";
import { ObjectFields } from "../bench/fields";
import { type FormContext, FormState } from "../bench/inputs";
import { initialValue, readSchema } from "../schema/model";
import { escapePointer, type Findings, makeChecker } from "../schema/validate";
import { Problem } from "../ui/problem";

/** A list of known values is a set of boxes in a form for a person, whether or not one may come twice. */
export function formSchema(schema: unknown): JsonObject {
	if (!isObject(schema)) return { type: "object" };
	if (!isObject(schema.properties)) return schema;
	const properties = Object.entries(schema.properties).map(([name, property]): [string, Json] => {
		const listed =
			isObject(property) &&
			property.type === "array" &&
			isObject(property.items) &&
			(property.items.enum ?? property.items.anyOf ?? property.items.oneOf) !== undefined;
		return [name, listed ? { ...property, uniqueItems: true } : property];
	});
	return { ...schema, properties: Object.fromEntries(properties) };
}

/** The form that a server wants filled in, with its checks beside the fields. */
export function QuestionForm(props: {
	asked: QuestionAsked;
	disabled: boolean;
	/** Sends an answer; what is returned is shown, beside its field when it names one. */
	onAnswer(action: string, content?: JsonObject): Promise<WireError | undefined>;
}) {
	const { asked, disabled, onAnswer } = props;
	const schema = useMemo(() => formSchema(asked.schema), [asked.schema]);
	const node = useMemo(() => readSchema(schema), [schema]);
	const check = useMemo(() => makeChecker(asked.schema), [asked.schema]);
	const [value, setValue] = useState<JsonObject>(() => {
		const start = initialValue(node, true);
		return isObject(start) ? start : {};
	});
	const [tried, setTried] = useState(false);
	const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
	const [broken, setBroken] = useState<Findings>(new Map());
	const [refused, setRefused] = useState<{ error: WireError; of: JsonObject } | undefined>();
	const box = useRef<HTMLFormElement>(null);

	const findings = useMemo(() => {
		const all = new Map(check(value));
		// What the daemon refused stays refused until it changes.
		const field = refused?.of === value && /^content\.(.+)$/.exec(refused.error.field ?? "")?.[1];
		if (field) all.set(`/${escapePointer(field)}`, refused.error.message);
		return all;
	}, [check, value, refused]);
	const touch = useCallback((path: string) => setTouched((now) => (now.has(path) ? now : new Set(now).add(path))), []);
	const noteBroken = useCallback((path: string, message: string | undefined) => {
		setBroken((now) => {
			if (now.get(path) === message) return now;
			const next = new Map(now);
			if (message === undefined) next.delete(path);
			else next.set(path, message);
			return next;
		});
	}, []);
	const state = useMemo<FormContext>(
		() => ({ findings, touch, setBroken: noteBroken, shown: (path) => tried || touched.has(path) }),
		[findings, touch, noteBroken, tried, touched],
	);

	const toFinding = () =>
		requestAnimationFrame(() => box.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
	const send = async () => {
		setTried(true);
		if (findings.size > 0 || broken.size > 0) {
			toFinding();
			return;
		}
		const error = await onAnswer("accept", value);
		if (!error) return;
		setRefused({ error, of: value });
		toFinding();
	};
	const attention = findings.size + broken.size;
	const aside = refused?.of === value && !refused.error.field?.startsWith("content.") ? refused.error : undefined;

	return (
		<form
			ref={box}
			className="question-form"
			aria-label={`Form of ${asked.server}`}
			noValidate
			onSubmit={(event) => {
				event.preventDefault();
				void send();
			}}
		>
			<div className="question-body">
				<div className="toolform">
					<FormState value={state}>
						{node.field.kind === "object" && node.field.properties.length > 0 ? (
							<ObjectFields properties={node.field.properties} path="" value={value} onChange={setValue} />
						) : (
							<p className="muted">This form has no fields.</p>
						)}
					</FormState>
					{tried && findings.get("") && <p className="field-finding">{findings.get("")}</p>}
					{aside && <Problem error={aside} />}
				</div>
			</div>
			<div className="question-foot">
				<span className="question-note muted">What you send goes to {asked.server}.</span>
				{tried && attention > 0 && (
					<span className="bench-attention" role="status">
						{attention === 1 ? "One thing needs attention." : `${attention} things need attention.`}
					</span>
				)}
				{asked.allowed.includes("cancel") && (
					<button type="button" className="button" disabled={disabled} onClick={() => void onAnswer("cancel")}>
						Cancel
					</button>
				)}
				{asked.allowed.includes("decline") && (
					<button type="button" className="button" disabled={disabled} onClick={() => void onAnswer("decline")}>
						Decline
					</button>
				)}
				<button type="submit" className="button primary" disabled={disabled}>
					Send to {asked.server}
				</button>
			</div>
		</form>
	);
}
