import * as z from './zod.js'

const names = new WeakMap<z.ZodMiniType, string>()

/** An object schema with a name of its own, for a shape that several operations share. The OpenAPI document lists it. */
export function component<T extends z.core.$ZodLooseShape>(name: string, shape: T): ReturnType<typeof z.object<T>> {
  const schema = z.object(shape)
  names.set(schema, name)
  return schema
}

/** Like `component`, for a shape whose unknown fields are an error. `checks` add to it what its fields alone do not say. */
export function strictComponent<T extends z.core.$ZodLooseShape>(
  name: string,
  shape: T,
  ...checks: z.core.CheckFn<z.output<ReturnType<typeof z.strictObject<T>>>>[]
): ReturnType<typeof z.strictObject<T>> {
  const schema = z.strictObject(shape).check(...checks)
  names.set(schema, name)
  return schema
}

/** The name of a schema. A copy that was only marked with a grade has the name of its original. */
export function componentName(schema: z.ZodMiniType): string | undefined {
  const { parent, def } = schema._zod
  const original = parent?._zod.def === def ? parent : undefined
  return names.get(schema) ?? (original && componentName(original as z.ZodMiniType)) // A copy has its original's class.
}
