"""Excel files by hand, for tests."""

import zipfile

SPACE = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
LINK = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def cell(place, value, kind="inlineStr"):
    if kind == "inlineStr":
        return f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'
    return f'<c r="{place}" {kind}>{value}</c>'


def workbook(path, **sheets):
    """A workbook by hand: each sheet's rows are the XML of their cells."""
    number = {name: k for k, name in enumerate(sheets, 1)}
    parts = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{TYPE}.sheet.main+xml"/></Types>',
        "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        f'<Relationship Id="r1" Type="{LINK}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook {SPACE} xmlns:r="{LINK}"><sheets>'
        + "".join(
            f'<sheet name="{name}" sheetId="{k}" r:id="r{k}"/>'
            for name, k in number.items()
        )
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        + "".join(
            f'<Relationship Id="r{k}" Type="{LINK}/worksheet" Target="worksheets/sheet{k}.xml"/>'
            for k in number.values()
        )
        + f'<Relationship Id="s" Type="{LINK}/styles" Target="styles.xml"/></Relationships>',
        "xl/styles.xml": f'<styleSheet {SPACE}><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>',
    }
    for name, rows in sheets.items():
        data = "".join(f"<row>{''.join(row)}</row>" for row in rows)
        parts[f"xl/worksheets/sheet{number[name]}.xml"] = (
            f"<worksheet {SPACE}><sheetData>{data}</sheetData></worksheet>"
        )
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in parts.items():
            packed.writestr(name, text)
    return path
