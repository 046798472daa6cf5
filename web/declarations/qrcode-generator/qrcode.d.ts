interface Code {
  addData(text: string, mode: 'Byte'): void;
  make(): void;
  getModuleCount(): number;
  isDark(row: number, column: number): boolean;
}
export default function qrcode(type: 0, level: 'L' | 'M' | 'Q' | 'H'): Code;
