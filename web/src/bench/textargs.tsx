import { useEffect, useId, useMemo, useState } from "react";
import { api } from "../api/client";
import { isObject } from "../api/json";
import type { CompleteRequest, Prompt, PromptRequest, ReadRequest, Server, Template } from "../api/types.gen";
import { openPrompt, openResource } from "../content/open";
import { type Draft, setArgs } from "./draft";
import { expandTemplate, templateVariables } from "./template";

const pauseMs = 150;

interface Argument {
	name: string;
	title: string;
	description: string;
	required: boolean;
}

/** The arguments of a prompt, all of them text, with the server's own completions. */
export function PromptForm(props: {
	prompt: Prompt;
	server: Server | undefined;
	draft: Draft;
	formId: string;
	/** Takes the prompt into a message, instead of showing it. */
	onInsert: ((request: PromptRequest) => void) | undefined;
}) {
	const { prompt } = props;
	return (
		<TextArguments
			{...props}
			of={{ server: prompt.server, prompt: prompt.name }}
			none="This prompt takes no arguments."
			args={prompt.arguments.map((a) => ({
				name: a.name,
				title: a.title || a.name,
				description: a.description ?? "",
				required: a.required,
			}))}
			onSubmit={(values) => {
				const request = { server: prompt.server, name: prompt.name, arguments: values };
				if (props.onInsert) props.onInsert(request);
				else openPrompt(prompt.title || prompt.name, request);
			}}
		/>
	);
}

/** The variables of a resource template, and the address they give. */
export function TemplateForm(props: {
	template: Template;
	server: Server | undefined;
	draft: Draft;
	formId: string;
	/** Takes the address into a message, instead of reading it. */
	onInsert: ((request: ReadRequest) => void) | undefined;
}) {
	const { template, draft } = props;
	const args = useMemo(
		() =>
			templateVariables(template.uriTemplate).map((name) => ({ name, title: name, description: "", required: false })),
		[template.uriTemplate],
	);
	return (
		<>
			<TextArguments
				{...props}
				of={{ server: template.server, template: template.uriTemplate }}
				none=""
				args={args}
				onSubmit={(values) => {
					const request = { server: template.server, uri: expandTemplate(template.uriTemplate, values) };
					if (props.onInsert) props.onInsert(request);
					else openResource(request);
				}}
			/>
			<p className="muted">
				{props.onInsert ? "Attaches" : "Reads"} <code>{expandTemplate(template.uriTemplate, textValues(draft))}</code>
			</p>
		</>
	);
}

function TextArguments(props: {
	args: Argument[];
	of: Pick<CompleteRequest, "server" | "prompt" | "template">;
	server: Server | undefined;
	draft: Draft;
	none: string;
	formId: string;
	onSubmit(values: Record<string, string>): void;
}) {
	const values = textValues(props.draft);
	const capabilities = props.server?.capabilities;
	const completes = isObject(capabilities) && capabilities.completions !== undefined;
	return (
		<form
			id={props.formId}
			className="toolform"
			onSubmit={(event) => {
				event.preventDefault();
				props.onSubmit(values);
			}}
		>
			{props.args.length === 0 && <p className="muted">{props.none}</p>}
			{props.args.map((argument) => (
				<TextArgument
					key={argument.name}
					argument={argument}
					values={values}
					complete={completes ? props.of : undefined}
					onChange={(text) => {
						const { [argument.name]: _, ...rest } = props.draft.args;
						setArgs(text === "" ? rest : { ...rest, [argument.name]: text });
					}}
				/>
			))}
		</form>
	);
}

function TextArgument(props: {
	argument: Argument;
	values: Record<string, string>;
	complete: Pick<CompleteRequest, "server" | "prompt" | "template"> | undefined;
	onChange(text: string): void;
}) {
	const { argument, values, complete } = props;
	const value = values[argument.name] ?? "";
	const id = useId();
	const [focused, setFocused] = useState(false);
	const [offered, setOffered] = useState<string[]>([]);
	const asked =
		complete && focused ? JSON.stringify({ ...complete, argument: argument.name, value, context: values }) : "";

	useEffect(() => {
		if (asked === "") return;
		const gone = new AbortController();
		const timer = setTimeout(() => {
			const { context, ...request } = JSON.parse(asked) as CompleteRequest;
			const { [request.argument]: _, ...others } = context ?? {};
			// Completion is a courtesy: without an answer the person types on.
			api.complete({ ...request, context: others }, gone.signal).then(
				(answer) => setOffered(answer.values),
				() => {},
			);
		}, pauseMs);
		return () => {
			clearTimeout(timer);
			gone.abort();
		};
	}, [asked]);

	return (
		<div className="field">
			<div className="field-head">
				<label className="field-label" htmlFor={id}>
					{argument.title}
				</label>
				{argument.title !== argument.name && <code className="field-name">{argument.name}</code>}
				{argument.required ? (
					<span className="field-needed">needed</span>
				) : (
					<span className="field-optional">optional</span>
				)}
			</div>
			{argument.description && (
				<p id={`${id}-about`} className="field-about">
					{argument.description}
				</p>
			)}
			<input
				id={id}
				className="input"
				value={value}
				required={argument.required}
				autoComplete="off"
				aria-describedby={argument.description ? `${id}-about` : undefined}
				list={complete ? `${id}-offered` : undefined}
				onFocus={() => setFocused(true)}
				onBlur={() => setFocused(false)}
				onChange={(event) => props.onChange(event.currentTarget.value)}
			/>
			{complete && (
				<datalist id={`${id}-offered`}>
					{offered.map((one) => (
						<option key={one} value={one} />
					))}
				</datalist>
			)}
		</div>
	);
}

function textValues(draft: Draft): Record<string, string> {
	return Object.fromEntries(
		Object.entries(draft.args).filter((pair): pair is [string, string] => typeof pair[1] === "string"),
	);
}
