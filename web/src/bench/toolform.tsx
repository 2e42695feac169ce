import { type RefObject, useCallback, useId, useMemo, useState } from "react";
import type { Tool } from "../api/types.gen";
import { readSchema } from "../schema/model";
import { type Findings, makeChecker } from "../schema/validate";
import { argumentsText, type Draft, setArgs, setText } from "./draft";
import { ObjectFields } from "./fields";
import { type FormContext, FormState } from "./inputs";

/** Checks a tool's arguments as they are written. */
export function useFindings(tool: Tool | undefined, draft: Draft): Findings {
	const check = useMemo(() => makeChecker(tool?.inputSchema), [tool?.inputSchema]);
	return useMemo(() => check(draft.args), [check, draft.args]);
}

/** The arguments of a tool, as a form that grows from its schema or as JSON; both show the same. */
export function ToolForm(props: {
	tool: Tool;
	draft: Draft;
	findings: Findings;
	/** After a try to run, every finding is shown. */
	tried: boolean;
	/** A field whose JSON does not parse, or does again. */
	onBroken(path: string, message: string | undefined): void;
	box: RefObject<HTMLDivElement | null>;
}) {
	const { tool, draft, findings, tried, onBroken } = props;
	const node = useMemo(() => readSchema(tool.inputSchema), [tool.inputSchema]);
	const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
	const id = useId();

	const touch = useCallback((path: string) => setTouched((now) => (now.has(path) ? now : new Set(now).add(path))), []);
	const state = useMemo<FormContext>(
		() => ({ findings, touch, setBroken: onBroken, shown: (path) => tried || touched.has(path) }),
		[findings, touch, onBroken, tried, touched],
	);

	if (draft.view === "json" || node.field.kind !== "object") {
		const shown = draft.problem === undefined && tried ? [...findings] : [];
		return (
			<div ref={props.box} className="toolform">
				<label className="field-label" htmlFor={id}>
					Arguments as JSON
				</label>
				<textarea
					id={id}
					className="input input-code"
					rows={6}
					spellCheck={false}
					value={argumentsText(draft)}
					aria-invalid={draft.problem !== undefined || shown.length > 0}
					aria-describedby={`${id}-findings`}
					onChange={(event) => setText(event.currentTarget.value)}
				/>
				<div id={`${id}-findings`} aria-live="polite">
					{draft.problem && <p className="field-finding">{draft.problem}</p>}
					{shown.map(([path, message]) => (
						<p key={path} className="field-finding">
							{path && <code>{path.slice(1)}</code>} {message}
						</p>
					))}
				</div>
			</div>
		);
	}
	return (
		<div ref={props.box} className="toolform">
			<FormState value={state}>
				{node.field.properties.length === 0 && <p className="muted">This tool takes no arguments.</p>}
				<ObjectFields properties={node.field.properties} path="" value={draft.args} onChange={setArgs} />
			</FormState>
			{tried && findings.get("") && <p className="field-finding">{findings.get("")}</p>}
		</div>
	);
}
