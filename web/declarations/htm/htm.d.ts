declare const htm: {
  bind<Result>(
    h: (type: unknown, props: object | null, ...children: unknown[]) => Result,
  ): (strings: TemplateStringsArray, ...values: unknown[]) => Result;
};
export default htm;
