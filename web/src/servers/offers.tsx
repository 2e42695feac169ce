import { type ReactNode, useDeferredValue, useMemo, useState } from "react";
import type { Prompt, Resource, Template, Tool } from "../api/types.gen";
import { pickOther, pickTool } from "../bench/draft";
import { openResource } from "../content/open";
import { bytes } from "../ui/format";
import { Icon } from "../ui/icons";
import { JsonView } from "../ui/jsonview";
import { Mark } from "../ui/mark";
import { Empty } from "../ui/problem";

const pageSize = 50;

/** A list that is searched and shown by the page, however long it is. */
function Searched<T>(props: {
	items: readonly T[] | undefined;
	what: string;
	haystack(item: T): string;
	children(item: T): ReactNode;
}) {
	const [query, setQuery] = useState("");
	const [shown, setShown] = useState(pageSize);
	const wanted = useDeferredValue(query);
	const { items, haystack } = props;
	const hits = useMemo(() => {
		const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
		return (items ?? []).filter((item) => {
			const text = haystack(item).toLowerCase();
			return words.every((word) => text.includes(word));
		});
	}, [items, haystack, wanted]);
	if (!items) return <p className="muted">Fetching the catalog…</p>;
	if (items.length === 0) {
		return (
			<Empty title={`No ${props.what}.`}>
				<p>This server offers none, or is not ready. The overview says how it stands.</p>
			</Empty>
		);
	}
	return (
		<>
			<label className="offers-search">
				<Icon name="search" />
				<input
					type="search"
					aria-label={`Search ${props.what}`}
					placeholder={`Search ${items.length.toLocaleString()} ${props.what}`}
					value={query}
					onChange={(event) => {
						setQuery(event.currentTarget.value);
						setShown(pageSize);
					}}
				/>
			</label>
			<ul className="offers">{hits.slice(0, shown).map(props.children)}</ul>
			{hits.length === 0 && <p className="muted">Nothing has these words.</p>}
			{hits.length > shown && (
				<button type="button" className="button" onClick={() => setShown(shown + pageSize)}>
					Show {Math.min(pageSize, hits.length - shown)} more of {(hits.length - shown).toLocaleString()}
				</button>
			)}
		</>
	);
}

const toolText = (tool: Tool) => `${tool.name} ${tool.title} ${tool.description ?? ""}`;
const promptText = (prompt: Prompt) => `${prompt.name} ${prompt.title} ${prompt.description ?? ""}`;

/** The tools of one server, with their schemas. */
export function ToolList({ tools, onPicked }: { tools: readonly Tool[] | undefined; onPicked(): void }) {
	return (
		<Searched items={tools} what="tools" haystack={toolText}>
			{(tool) => (
				<li key={tool.name} className="offer">
					<div className="offer-head">
						<span className="offer-title">{tool.title || tool.name}</span>
						<code className="muted">{tool.name}</code>
						{tool.appUri && !tool.appProblem && <span className="badge">app</span>}
						{!tool.forModel && <span className="badge">for apps only</span>}
						<button
							type="button"
							className="button"
							aria-label={`Use ${tool.title || tool.name}`}
							onClick={() => {
								pickTool(tool);
								onPicked();
							}}
						>
							<Icon name="play" />
							Use
						</button>
					</div>
					{tool.description && <p className="offer-about">{tool.description}</p>}
					{tool.appProblem && (
						<p className="card-warning">
							<Mark tone="warn" /> Its app will not be shown: {tool.appProblem}
						</p>
					)}
					<Folded summary="Schema">
						<p className="muted">
							Models see it as <code>{tool.label}</code>.
						</p>
						<h3>Input</h3>
						<JsonView value={tool.inputSchema ?? {}} />
						{tool.outputSchema !== undefined && tool.outputSchema !== null && (
							<>
								<h3>Output</h3>
								<JsonView value={tool.outputSchema} />
							</>
						)}
						{tool.annotations !== undefined && tool.annotations !== null && (
							<>
								<h3>What the server says of it</h3>
								<JsonView value={tool.annotations} />
							</>
						)}
					</Folded>
				</li>
			)}
		</Searched>
	);
}

/** The prompts of one server. */
export function PromptList({ prompts, onPicked }: { prompts: readonly Prompt[] | undefined; onPicked(): void }) {
	return (
		<Searched items={prompts} what="prompts" haystack={promptText}>
			{(prompt) => (
				<li key={prompt.name} className="offer">
					<div className="offer-head">
						<span className="offer-title">{prompt.title || prompt.name}</span>
						<code className="muted">{prompt.name}</code>
						<button
							type="button"
							className="button"
							aria-label={`Use ${prompt.title || prompt.name}`}
							onClick={() => {
								pickOther({ kind: "prompt", server: prompt.server, name: prompt.name });
								onPicked();
							}}
						>
							Use
						</button>
					</div>
					{prompt.description && <p className="offer-about">{prompt.description}</p>}
					{prompt.arguments.length > 0 && (
						<p className="muted">
							Takes {prompt.arguments.map((a) => (a.required ? a.name : `${a.name} (optional)`)).join(", ")}.
						</p>
					)}
				</li>
			)}
		</Searched>
	);
}

type Readable = { key: string; resource: Resource } | { key: string; template: Template };
const readableText = (one: Readable) => {
	const of = "resource" in one ? one.resource : one.template;
	return `${one.key} ${of.name} ${of.title} ${of.description ?? ""}`;
};

/** The resources of one server, and the templates that make more of them. */
export function ResourceList(props: {
	resources: readonly Resource[] | undefined;
	templates: readonly Template[] | undefined;
	onPicked(): void;
}) {
	const { resources, templates } = props;
	const items = useMemo<Readable[] | undefined>(
		() =>
			resources &&
			templates && [
				...templates.map((template) => ({ key: template.uriTemplate, template })),
				...resources.map((resource) => ({ key: resource.uri, resource })),
			],
		[resources, templates],
	);
	return (
		<Searched items={items} what="resources" haystack={readableText}>
			{(one) => {
				const of = "resource" in one ? one.resource : one.template;
				const size = "resource" in one ? one.resource.size : undefined;
				return (
					<li key={one.key} className="offer">
						<div className="offer-head">
							<span className="offer-title">{of.title || of.name || one.key}</span>
							{"template" in one && <span className="badge">template</span>}
							{of.mimeType && <span className="muted">{of.mimeType}</span>}
							{typeof size === "number" && <span className="muted">{bytes(size)}</span>}
							<button
								type="button"
								className="button"
								aria-label={`${"resource" in one ? "Read" : "Fill in"} ${of.title || of.name || one.key}`}
								onClick={() => {
									if ("resource" in one) {
										openResource({ server: of.server, uri: one.key });
										return;
									}
									pickOther({ kind: "template", server: of.server, name: one.key });
									props.onPicked();
								}}
							>
								{"resource" in one ? "Read" : "Fill in"}
							</button>
						</div>
						<p className="resource-uri muted">{one.key}</p>
						{of.description && <p className="offer-about">{of.description}</p>}
					</li>
				);
			}}
		</Searched>
	);
}

/** A fold whose inside is made when it opens. */
function Folded({ summary, children }: { summary: string; children: ReactNode }) {
	const [open, setOpen] = useState(false);
	return (
		<details className="folded" onToggle={(event) => setOpen(event.currentTarget.open)}>
			<summary>{summary}</summary>
			{open && children}
		</details>
	);
}
