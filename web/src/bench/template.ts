/** The variables of a URI template (RFC 6570, levels 1 to 3), in order of appearance. */
export function templateVariables(template: string): string[] {
	const names = new Set<string>();
	for (const [, , list] of template.matchAll(/\{([+#./;?&]?)([^}]+)\}/g)) {
		for (const part of list?.split(",") ?? []) names.add(nameOf(part));
	}
	return [...names];
}

/** The URI a template gives; variables without a value leave nothing behind. */
export function expandTemplate(template: string, values: Record<string, string>): string {
	return template.replace(/\{([+#./;?&]?)([^}]+)\}/g, (_whole, operator: string, list: string) => {
		const reserved = operator === "+" || operator === "#";
		const encode = (value: string) => (reserved ? encodeURI(value) : encodeURIComponent(value));
		const named = operator === ";" || operator === "?" || operator === "&";
		const parts = list
			.split(",")
			.map(nameOf)
			.filter((name) => values[name])
			.map((name) => (named ? `${name}=${encode(values[name] ?? "")}` : encode(values[name] ?? "")));
		if (parts.length === 0) return "";
		const separator = { "?": "&", "&": "&", ";": ";", "/": "/", ".": "." }[operator] ?? ",";
		return (operator === "+" ? "" : operator) + parts.join(separator);
	});
}

function nameOf(part: string): string {
	return part.replace(/(\*|:\d+)$/, "").trim();
}
