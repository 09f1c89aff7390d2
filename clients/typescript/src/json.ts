/** JSON whose bytes depend on the value alone, so that a restarted process repeats the same bytes. */

/** Sorted keys, no spaces. Fields that are undefined are left out, as `JSON.stringify` does. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) => (isPlainObject(each) ? sortKeys(each) : each));
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function sortKeys(fields: Record<string, unknown>): Record<string, unknown> {
  // Without a prototype, so that a key such as `__proto__` is a key like others.
  const sorted = Object.create(null) as Record<string, unknown>;
  for (const key of Object.keys(fields).sort()) sorted[key] = fields[key];
  return sorted;
}
