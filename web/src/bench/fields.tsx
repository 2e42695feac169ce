import { useContext, useId } from "react";
import { isObject, type Json, type JsonObject } from "../api/json";
import { initialValue, type Node, type Property } from "../schema/model";
import { escapePointer } from "../schema/validate";
import { Icon } from "../ui/icons";
import {
	type Aria,
	ChoicesField,
	type FieldProps,
	FormState,
	type InputProps,
	JsonField,
	NumberField,
	sameJson,
	TextField,
} from "./inputs";

/** The fields of an object, in the schema's order, needed ones and optional ones alike. */
export function ObjectFields(props: {
	properties: Property[];
	path: string;
	value: JsonObject;
	onChange(value: JsonObject): void;
}) {
	return props.properties.map(({ name, required, node }) => (
		<FieldView
			key={name}
			node={node}
			name={name}
			required={required}
			path={`${props.path}/${escapePointer(name)}`}
			value={Object.hasOwn(props.value, name) ? props.value[name] : undefined}
			onChange={(next) => {
				const { [name]: _, ...rest } = props.value;
				if (next === undefined) props.onChange(rest);
				else if (Object.hasOwn(props.value, name)) props.onChange({ ...props.value, [name]: next });
				else props.onChange({ ...rest, [name]: next });
			}}
		/>
	));
}

function FieldView(props: FieldProps) {
	const { node, name, path, required, value, actions } = props;
	const form = useContext(FormState);
	const id = useId();
	const finding = form.shown(path) ? form.findings.get(path) : undefined;
	const kind = node.field.kind;
	const group = kind === "object" || kind === "array" || kind === "choices";
	const described =
		[node.description && `${id}-about`, finding && `${id}-finding`].filter(Boolean).join(" ") || undefined;
	const Label = group ? "span" : "label";
	return (
		// biome-ignore lint/a11y/noStaticElementInteractions: it hears its input being left, and does nothing else.
		<div
			className={`field field-${kind}${finding ? " field-wrong" : ""}`}
			{...(group ? { role: "group", "aria-labelledby": `${id}-label` } : {})}
			onBlur={(event) => {
				if (!event.currentTarget.contains(event.relatedTarget)) form.touch(path);
			}}
		>
			<div className="field-head">
				<Label id={`${id}-label`} className="field-label" {...(group ? {} : { htmlFor: id })}>
					{node.title || name}
				</Label>
				{node.title && name && node.title !== name && <code className="field-name">{name}</code>}
				{required ? (
					<span className="field-needed">needed</span>
				) : (
					name !== "" && <span className="field-optional">optional</span>
				)}
				{node.bounds && <span className="field-bounds">{node.bounds}</span>}
				{actions}
			</div>
			{node.description && (
				<p id={`${id}-about`} className="field-about">
					{node.description}
				</p>
			)}
			<Input {...props} id={id} describedBy={described} invalid={finding !== undefined} />
			{finding && (
				<p id={`${id}-finding`} className="field-finding">
					{finding}
				</p>
			)}
			{value === null && kind !== "json" && <p className="field-about">Set to null.</p>}
		</div>
	);
}

function Input(props: InputProps) {
	const { node, value, onChange, required, id } = props;
	const aria = { id, "aria-describedby": props.describedBy, "aria-invalid": props.invalid, "aria-required": required };
	// An emptied optional value is left out; a needed one that may be null is null.
	const unset = required && node.nullable ? null : undefined;
	const field = node.field;
	switch (field.kind) {
		case "text":
			return <TextField {...props} aria={aria} input={field.input} multiline={field.multiline} unset={unset} />;
		case "number":
			return <NumberField aria={aria} value={value} onChange={onChange} unset={unset} integer={field.integer} />;
		case "boolean":
			return (
				<div className="switch-row">
					<input
						{...aria}
						type="checkbox"
						role="switch"
						className="switch"
						checked={value === true}
						aria-checked={value === true}
						onChange={(event) => onChange(event.currentTarget.checked)}
					/>
					<span className="muted">{value === undefined ? "not set" : value === true ? "yes" : "no"}</span>
					{!required && value !== undefined && (
						<button type="button" className="button-quiet" onClick={() => onChange(undefined)}>
							Leave out
						</button>
					)}
				</div>
			);
		case "choice": {
			const at = field.options.findIndex((option) => sameJson(option.value, value));
			return (
				<select
					{...aria}
					className="input"
					value={at < 0 ? "" : String(at)}
					onChange={(event) => onChange(field.options[Number(event.currentTarget.value || -1)]?.value ?? unset)}
				>
					{(at < 0 || !required) && <option value="">{required ? "Choose…" : "Not set"}</option>}
					{field.options.map((option, i) => (
						<option key={JSON.stringify(option.value)} value={i}>
							{option.label}
						</option>
					))}
				</select>
			);
		}
		case "choices":
			return <ChoicesField options={field.options} value={value} required={required} onChange={onChange} />;
		case "array":
			return <ArrayField {...props} item={field.item} />;
		case "object":
			return <NestedField {...props} properties={field.properties} />;
		case "json":
			return <JsonField {...props} aria={aria} expects={field.expects} />;
	}
}

const maxItems = 200;

function ArrayField(props: InputProps & { item: Node }) {
	const { value, item, path, onChange, required } = props;
	const items = Array.isArray(value) ? value : [];
	if (items.length > maxItems) return <JsonField {...props} aria={{ id: props.id } as Aria} expects="array" />;
	const put = (next: Json[]) => onChange(next.length === 0 && !required ? undefined : next);
	const swap = (a: number, b: number) => {
		const next = [...items];
		[next[a], next[b]] = [next[b] ?? null, next[a] ?? null];
		put(next);
	};
	return (
		<div className="items">
			{items.map((one, i) => (
				<FieldView
					// biome-ignore lint/suspicious/noArrayIndexKey: items have no identity but their place.
					key={i}
					node={{ ...item, title: item.title || `${i + 1}` }}
					name=""
					path={`${path}/${i}`}
					required={false}
					value={one}
					onChange={(next) => put(items.map((old, j) => (j === i ? (next ?? null) : old)))}
					actions={
						<span className="field-actions">
							<button
								type="button"
								className="button-icon"
								aria-label={`Move item ${i + 1} up`}
								disabled={i === 0}
								onClick={() => swap(i, i - 1)}
							>
								<Icon name="up" />
							</button>
							<button
								type="button"
								className="button-icon"
								aria-label={`Move item ${i + 1} down`}
								disabled={i === items.length - 1}
								onClick={() => swap(i, i + 1)}
							>
								<Icon name="down" />
							</button>
							<button
								type="button"
								className="button-icon"
								aria-label={`Remove item ${i + 1}`}
								onClick={() => put(items.filter((_, j) => j !== i))}
							>
								<Icon name="close" />
							</button>
						</span>
					}
				/>
			))}
			<button
				type="button"
				id={props.id}
				className="button-quiet"
				onClick={() => put([...items, initialValue(item, true) ?? (item.field.kind === "text" ? "" : null)])}
			>
				<Icon name="plus" />
				Add {items.length === 0 ? "an item" : "another"}
			</button>
		</div>
	);
}

function NestedField(props: InputProps & { properties: Property[] }) {
	const { value, onChange, required, node } = props;
	if (!isObject(value)) {
		const start = initialValue(node, true);
		return (
			<button type="button" id={props.id} className="button-quiet" onClick={() => onChange(start ?? {})}>
				<Icon name="plus" />
				Add {node.title || props.name}
			</button>
		);
	}
	return (
		<div className="nested">
			<ObjectFields properties={props.properties} path={props.path} value={value} onChange={onChange} />
			{!required && props.name !== "" && (
				<button type="button" className="button-quiet" onClick={() => onChange(undefined)}>
					<Icon name="close" />
					Leave out {node.title || props.name}
				</button>
			)}
		</div>
	);
}
