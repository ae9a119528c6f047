export async function inspectCommand(_a: unknown, _b: unknown): Promise<number> { return 2 }
